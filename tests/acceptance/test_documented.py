"""What the tutorial and the README show is what happens."""

import gzip
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from tests.support.servers.postgresql import start_postgresql
from tests.support.servers.programs import Program, place, wait_until

from .documented import ROOT, Follower, environment
from .site import atlas

#: What is there already, for nothing here asks a package index.
INSTALLATION = ("python3 -m venv", ". .venv", "python -m pip")

SHOP_MODELS = """
from django.db import models


class Product(models.Model):
    slug = models.SlugField(unique=True)
    is_published = models.BooleanField(default=True)
    updated_at = models.DateTimeField(auto_now=True, db_index=True)
    photo = models.FileField(blank=True)
"""

SHOP_URLS = """
from django.http import HttpResponse
from django.urls import include, path

urlpatterns = [
    path("", HttpResponse, name="home"),
    path("about/", HttpResponse, name="about"),
    path("contact/", HttpResponse, name="contact"),
    path("products/<slug:slug>/", HttpResponse, name="product-detail"),
]
"""

SHOP_SITEMAPS = """
from django_sitemaps_plus import ModelSource, Route, register

from .models import Product


@register("products")
class ProductSource(ModelSource):
    model = Product
    location = Route("product-detail", slug="slug")
"""

SHOP_MAPS = """
from django.contrib.sitemaps import Sitemap

from .models import Product


class ProductSitemap(Sitemap):
    def items(self):
        return Product.objects.order_by("pk")

    def location(self, product):
        return f"/{product.slug}"
"""

SHOP_SETTINGS = """
INSTALLED_APPS += ["django_sitemaps_plus"]
MEDIA_ROOT, MEDIA_URL = BASE_DIR / "media", "/media/"
SITEMAPS_PLUS = {"BASE_URL": "https://shop.example"}
"""

#: A command that runs a statement in a database.
SQL = """python -c "
import psycopg
psycopg.connect('dbname={0}', autocommit=True).execute('{1}')
"
"""

#: The fourth step of leaving.
LEFT = 'INSTALLED_APPS.remove("django_sitemaps_plus")\ndel SITEMAPS_PLUS'

#: Prints the entry of the former app's page, and where that page leads.
ASK = """
import re
from django.test import Client
client = Client(SERVER_NAME='localhost')
former = client.get('/sitemap-products-1.xml')
text = client.get(former['Location']).text
print(re.search('<loc>.*?</loc>', text)[0], former['Location'], sep='\\n')
"""


@pytest.fixture
def port() -> Iterator[int]:
    with place("documented") as (port, _):
        yield port


def test_the_tutorial_is_what_happens(tmp_path: Path, port: int):
    """Every command in order, in a directory that is empty at first.

    The guide to tests is of its project: they pass there, and nothing is logged.
    """
    directory = tmp_path / "tutorial"
    directory.mkdir()
    follower = Follower(directory, environment(tmp_path), port, INSTALLATION)
    text = (ROOT / "docs" / "tutorial" / "first-sitemap.md").read_text()
    assert "\n".join(follower.follow(text)) == ""

    text = (ROOT / "docs" / "how-to" / "test-your-sources.md").read_text()
    blocks = re.findall(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    for number, block in enumerate(blocks):
        (directory / "shop" / f"tests_{number}.py").write_text(block)
    said = follower.run("python manage.py test --pattern 'tests_*.py'")
    assert re.search(r"^\.{6}\n-+\nRan 6 tests", said, re.MULTILINE), said


def test_the_demo_in_the_readme_is_what_happens(
    tmp_path_factory: pytest.TempPathFactory, tmp_path: Path, port: int
):
    """The table of the build, and the index that the server gives afterwards."""
    variables = environment(
        tmp_path,
        ACCEPTANCE_MEDIA_ROOT=str(tmp_path / "media"),
        DATABASE_URL=f"sqlite:///{tmp_path / 'db.sqlite3'}",
        DJANGO_SETTINGS_MODULE="tests.acceptance.settings",
    )
    follower = Follower(ROOT, variables, port)
    shutil.copy(atlas(tmp_path_factory), tmp_path)
    text, _, _ = (ROOT / "README.md").read_text().partition("## Quickstart")
    serve = "```console\n$ python manage.py runserver\n```\n\n"
    text = text.replace("```console\n$ curl", f"{serve}```console\n$ curl")
    assert "\n".join(follower.follow(text)) == ""


@pytest.fixture
def shop(tmp_path: Path, port: int) -> Follower:
    """Have a shop without sitemaps, and follow guides there."""
    directory = tmp_path / "shop"
    directory.mkdir()
    follower = Follower(directory, environment(tmp_path), port, INSTALLATION)
    follower.run("django-admin startproject shop .")
    (directory / "shop" / "models.py").write_text(SHOP_MODELS)
    (directory / "shop" / "urls.py").write_text(SHOP_URLS)
    add(follower, "settings", 'INSTALLED_APPS += ["shop"]')
    follower.run("python manage.py makemigrations shop")
    return follower


def add(follower: Follower, name: str, text: str) -> None:
    with (follower.directory / "shop" / f"{name}.py").open("a") as file:
        file.write(f"{text}\n")


def guide(name: str) -> tuple[str, list[str], list[str]]:
    """Return the text of a guide, its code and its commands."""
    text = (ROOT / "docs" / "how-to" / f"{name}.md").read_text()
    code = re.findall(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    return text, code, re.findall(r"^\$ (.*)", text, re.MULTILINE)


def build(follower: Follower, words: str = "") -> str:
    code = "from shop.models import Product; Product.objects.create(slug='lamp')"
    names = ("migrate -v 0", f'shell -v 0 -c "{code}"', "build_sitemaps")
    return follower.run(" && ".join(f"{words} python manage.py {it}" for it in names))


@pytest.fixture
def listed(shop: Follower) -> Follower:
    add(shop, "sitemaps", SHOP_SITEMAPS)
    add(shop, "settings", SHOP_SETTINGS)
    add(shop, "urls", 'urlpatterns += [path("", include("django_sitemaps_plus.urls"))]')
    return shop


def test_a_project_that_leaves_keeps_nothing(listed: Follower):
    """Neither tables nor files or rights; a former page leads to its section."""
    build(listed)
    (listed.directory / "shop" / "sitemaps.py").unlink()
    add(listed, "maps", SHOP_MAPS)
    add(listed, "settings", 'INSTALLED_APPS += ["django.contrib.sitemaps"]')
    _, (urls, settings), (unapply, delete, tidy) = guide("leave")
    (listed.directory / "shop" / "urls.py").write_text(urls)
    add(listed, "settings", settings)
    assert "sitemaps_plus.0001_initial... OK" in listed.run(unapply)
    listed.run(delete)
    add(listed, "settings", LEFT)
    assert "sitemaps_plus.section" in listed.run(f"echo yes | {tidy}")
    said = listed.run(f'python manage.py shell -v 0 -c "{ASK}"')
    assert said == "<loc>http://localhost/lamp</loc>\n/sitemap-products.xml\n"
    assert "no issues" in listed.run("python manage.py check")


def test_a_copy_is_refused_until_it_takes_over(listed: Follower):
    """Its files are apart, and those that are lost come back."""
    text, (settings, *_), commands = guide("staging-copies-and-restore")
    export, refused, take_over, _, again, *_ = commands
    add(listed, "settings", settings)
    build(listed)
    [shown] = re.findall("^CommandError.*", text, re.MULTILINE)
    assert shown in listed.run(f"{export}\n{refused} || true")
    media = listed.directory / "media"
    [own] = media.rglob("*/products/*/*.gz")
    listed.run(f"{export}\n{take_over}")
    [page] = media.rglob("copy-*/products/*/*.gz")
    assert b"//staging.shop.example/" in gzip.decompress(page.read_bytes())
    page.unlink()
    listed.run(f"{export}\n{again}")
    assert len([*media.rglob("copy-*/products/*/*.gz")]) == 1
    assert own.exists()


def test_a_schema_for_each_tenant(listed: Follower):
    """They share a storage, and each has its own pages."""
    _, [settings], _ = guide("serve-tenants")
    add(listed, "settings", settings)
    with start_postgresql() as server:
        words = f"PGUSER=postgres PGHOST={server.settings['HOST']}"
        listed.run(f"{words} {SQL.format('postgres', 'CREATE DATABASE shop')}")
        for tenant in ("red", "blue"):
            listed.run(f"{words} {SQL.format('shop', f'CREATE SCHEMA {tenant}')}")
            build(listed, f"{words} TENANT={tenant}")
    pages = (listed.directory / "media").rglob("*/products/*/*.gz")
    texts = "".join([gzip.decompress(it.read_bytes()).decode() for it in pages])
    assert sorted(re.findall("<loc>https://(.+?)[.]", texts)) == ["blue", "red"]


def test_the_quickstart_of_the_readme_works(shop: Follower):
    """In a shop that is there already: its commands succeed, and its page is right."""
    _, _, text = (ROOT / "README.md").read_text().partition("## Quickstart")
    text, _, _ = text.partition("## Try it here")
    for name in ("settings.py", "urls.py"):
        text = text.replace(f"# {name}", f"# shop/{name}")
    text = text.replace("run_sitemaps\n", "run_sitemaps --once\n")  # it would stay
    _, checked, built = shop.follow(text)  # README does not show their outputs
    assert "System check identified no issues (0 silenced)." in checked
    assert "pages: 1 page rendered, 1 changed" in built
    page = shop.run("gunzip -c media/sitemaps/public/sitemap-pages-1.xml.gz")
    assert "<loc>https://shop.example/about/</loc>" in page


@pytest.fixture
def variables(tmp_path: Path) -> dict[str, str]:
    variables = environment(
        tmp_path,
        ACCEPTANCE_MEDIA_ROOT=str(tmp_path / "media"),
        DATABASE_URL=f"sqlite:///{tmp_path / 'db.sqlite3'}",
        DJANGO_SETTINGS_MODULE="tests.acceptance.settings",
        HOME=str(tmp_path),
    )
    Follower(ROOT, variables, 0).run("python manage.py migrate --verbosity 0")
    return variables


def test_the_web_server_of_compose_is_healthy(
    variables: dict[str, str], tmp_path: Path, port: int
):
    """Its command serves another project, and fails the check once it is gone."""
    text = (ROOT / "docs" / "examples" / "compose.yaml").read_text()
    for shown, real in (
        ("config.wsgi", "example_project.wsgi"),
        ("0.0.0.0:8000", f"127.0.0.1:{port}"),
        ("127.0.0.1:8000/", f"127.0.0.1:{port}/"),
        ("shop.example", "localhost"),
    ):
        assert shown in text
        text = text.replace(shown, real)
    web = yaml.safe_load(text)["services"]["web"]
    command = [sys.executable, "-m", *web["command"], "--chdir", str(ROOT)]
    server = Program(command, directory=tmp_path, environment=variables, port=port)
    _, _, *words = web["healthcheck"]["test"]

    def is_healthy() -> bool:
        done = subprocess.run([sys.executable, *words], env=variables, check=False)
        return done.returncode == 0

    with server.started():
        wait_until(is_healthy, "the web server is healthy")
    assert not is_healthy()


def test_the_unit_of_systemd_keeps_sitemaps_up_to_date(
    variables: dict[str, str], tmp_path: Path
):
    """Its command works, is started again after a kill, and ends as it is asked to."""
    unit = (ROOT / "docs" / "examples" / "sitemaps.service").read_text()
    service = dict(re.findall(r"^(\w+)=(.+)$", unit, re.MULTILINE))
    python, script, *words = service["ExecStart"].split()
    assert python.startswith(service["WorkingDirectory"])
    worker = Program(
        [sys.executable, str(ROOT / script), *words],
        directory=tmp_path,
        environment=variables,
        ready="Sitemaps are kept up to date",
    )
    with worker.started():
        worker.restart()
        worker.stop()  # by the KillSignal of the unit
        assert not worker.was_killed()
        assert "Ended." in worker.printed()
