"""Mistakes of the set-up: before migrate, without a cache, a site, its own database."""

import re
import shutil
import subprocess
import sys
from typing import Any

import pytest

from tests.reliability.tools.how_to import how_to_server
from tests.support.servers.nginx import start_nginx
from tests.support.web import WebClient

from .project import ROOT
from .serving import logged, served

HOW_TO = ROOT / "docs" / "how-to"

PATHS = ["/sitemap.xml", "/sitemap-posts-1.xml", "/robots.txt"]

ROBOTS = 'SITEMAPS_PLUS["ROBOTS"] = {}'
NO_CACHE = """
CACHES = {"default": {
    "BACKEND": "django.core.cache.backends.redis.RedisCache",
    "LOCATION": "redis://127.0.0.1:7/1",
}}
"""
NO_TABLE = """
CACHES = {"default": {
    "BACKEND": "django.core.cache.backends.db.DatabaseCache",
    "LOCATION": "never_made",
}}
"""
READ_ONLY = """
DATABASES["default"]["OPTIONS"] = {"init_command": "PRAGMA query_only=1"}
"""
POSTGRESQL = """
DATABASES = {"default": {
    "ENGINE": "django.db.backends.postgresql",
    "HOST": "127.0.0.1",
    "PORT": 7,
    "NAME": "blog",
}}
"""
SITES = """
del SITEMAPS_PLUS["BASE_URL"]
INSTALLED_APPS += ["django.contrib.sites"]
"""
HOME = """
DEBUG = False
SITEMAPS_PLUS["BASE_URL"] = "http://localhost"
"""


PRODUCTION = """
DEBUG = False
ALLOWED_HOSTS = ["localhost"]
"""
OURS = "django_sitemaps_plus.urls"
INCLUDE = f'    path("", include("{OURS}")),\n'


def drop_ours(project: Any) -> None:
    tables = project.execute(
        "SELECT name FROM sqlite_master WHERE type = 'table' "
        "AND name LIKE 'sitemaps_plus_%'"
    )
    for [name] in tables:
        project.execute(f"DROP TABLE {name}")


def drop_all(project: Any) -> None:
    (project.directory / "db.sqlite3").unlink()


def drop_column(project: Any) -> None:
    """Have the tables of the release before, with what it has built."""
    project.manage("build_sitemaps")
    project.execute("ALTER TABLE sitemaps_plus_page DROP COLUMN published_at")


def delete_media(project: Any) -> None:
    project.manage("build_sitemaps")
    shutil.rmtree(project.directory / "media")


def test_the_project_has_no_mistake(project):
    """It checks, builds and serves its posts without a word on stderr."""
    project.rows(2)
    checked = project.manage("check", "--fail-level", "WARNING")
    assert (checked.returncode, checked.stderr) == (0, "")
    built = project.manage("build_sitemaps")
    assert (built.returncode, built.stderr) == (0, "")
    status, text, logged = project.get("/sitemap-posts-1.xml")
    assert (status, logged) == (200, "")
    assert "https://blog.example/blog/post-1/" in text


@pytest.mark.parametrize(
    ("added", "sabotage", "statuses", "lines", "words"),
    [
        (ROBOTS, drop_all, [503, 503, 200], 3, "no such table: .*manage.py migrate"),
        (ROBOTS, drop_ours, [200, 200, 200], 3, "no such table: .*manage.py migrate"),
        (ROBOTS + NO_CACHE, None, [200, 200, 200], 1, "cache failed.*Connection"),
        (ROBOTS + SITES, None, [503, 503, 200], 3, "Set SITE_ID"),
        (ROBOTS + SITES + "SITE_ID = 7", None, [503, 503, 200], 3, "django_site.*mig"),
        (ROBOTS, drop_column, [503, 503, 200], 2, "published_at.*manage.py migrate"),
        (ROBOTS, delete_media, [200, 200, 200], 2, "xml.gz could not be read: File"),
        (ROBOTS + NO_TABLE, None, [200, 200, 200], 1, "cache failed.*no such table"),
    ],
    ids=[
        *("nothing migrated", "ours not migrated", "no cache", "no SITE_ID"),
        *("no sites", "column missing", "files deleted", "no createcachetable"),
    ],
)
def test_views_answer_with_a_line_in_the_log(
    project, added, sabotage, statuses, lines, words
):
    """Or with 503; never with a 500, nor with a traceback a request."""
    project.rows(2)
    project.settings(added)
    if sabotage is not None:
        sabotage(project)
    with served(project) as server:
        client = WebClient(server.url)
        assert [client.get(path).status_code for path in PATHS] == statuses
        found = logged(server)
    assert len(found) == lines, found
    assert all(re.search(words, line) for line in found), found


def test_a_database_that_goes_away_is_503(project):
    """One line a request; robots.txt keeps the index that it named last."""
    project.rows(2)
    project.settings(ROBOTS)
    database = project.directory / "db.sqlite3"
    with served(project) as server:
        client = WebClient(server.url)
        before = client.get("/robots.txt").content
        database.unlink()
        database.mkdir()  # which nothing can open
        assert [client.get(path).status_code for path in PATHS] == [503, 503, 200]
        assert client.get("/robots.txt").content == before
        found = logged(server)
    assert len(found) == 4
    assert all("unable to open database file" in line for line in found), found


def spoil_media(project: Any) -> None:
    project.write("media", "")


#: What is added to the settings and done, the command, its status and words.
COMMANDS = {
    "status before migrate": (
        *("", drop_all, "sitemap_status", 2),
        "unknown: .*no such table: .*py migrate",
    ),
    "status without a server": (
        *(POSTGRESQL, None, "sitemap_status", 2),
        "unknown: .*port 7 failed.*refused",
    ),
    "no time zone": ("USE_TZ = False", None, "sitemap_status --max-age 9", 0, "^$"),
    "build before migrate": (
        *("", drop_all, "build_sitemaps", 1),
        r"section\. Run [^.]*\.py [^.]*\. What was",
    ),
    "build without sites": (
        *(SITES + "SITE_ID = 7", drop_all, "build_sitemaps", 1),
        "django_site.*migrate",
    ),
    "no directory": (
        *("", spoil_media, "build_sitemaps", 1),
        "Not a directory: .*What was published",
    ),
    "read-only": (READ_ONLY, None, "build_sitemaps", 1, "write a readonly database"),
    "localhost": (HOME, None, "check --deploy", 0, "'http://localhost', which "),
}


@pytest.mark.parametrize("name", COMMANDS)
def test_commands_say_what_to_do(project, name):
    """The value, the reason and the remedy; a database that is away ends with 2."""
    added, sabotage, command, status, words = COMMANDS[name]
    project.rows(2)
    project.settings(added)
    if sabotage is not None:
        sabotage(project)
    done = project.manage(*command.split())
    assert done.returncode == status, done.stderr
    assert re.search(words, " ".join(done.stderr.split())), done.stderr


def test_an_edit_that_nothing_builds_is_named_once(project):
    """Files are served and no worker runs: ``runserver`` says so until a build."""
    project.rows(2)
    assert project.manage("build_sitemaps").returncode == 0
    with served(project) as server:
        client = WebClient(server.url)

        def crawl_twice() -> list[str]:
            for path in PATHS[:2] * 2:
                assert client.get(path).status_code == 200
            return logged(server)

        assert crawl_twice() == []
        edit = "from blog.models import Post; [p.save() for p in Post.objects.all()]"
        project.manage("shell", "-c", edit)
        said = "2 changes wait: run manage.py build_sitemaps, or a worker"
        assert crawl_twice() == [said]
        project.manage("build_sitemaps")
        assert crawl_twice() == [said]
        project.manage("shell", "-c", edit)
        assert crawl_twice() == [said, said]


def test_no_place_for_files_stops_builds_only(project):
    """Every other command works; a check warns of it."""
    project.rows(2)
    project.settings(f'{PRODUCTION}MEDIA_ROOT = ""')
    checked = project.manage("check")
    assert (checked.returncode, "W004" in checked.stderr) == (0, True)
    assert project.manage("test").returncode == 0
    assert project.get("/sitemap-posts-1.xml")[0] == 200
    built = project.manage("build_sitemaps")
    assert built.returncode == 1
    assert "cannot be built. Set MEDIA_ROOT, or" in built.stderr
    assert "Traceback" not in built.stderr


@pytest.mark.parametrize(
    ("written", "status", "said"),
    [
        ("", 0, "does not include the sitemaps"),
        (
            f'    path("<path:slug>", post),\n{INCLUDE}',
            1,
            "/sitemap.xml leads to blog.views.post, not to the sitemaps.",
        ),
    ],
    ids=["none", "catch-all"],
)
def test_a_wrong_place_of_our_urls_is_named(project, written, status, said):
    """A warning where some URLs may work, else an error; with the right place."""
    project.replace("mysite/urls.py", INCLUDE, written)
    checked = project.manage("check")
    assert checked.returncode == status
    assert said in checked.stderr
    assert INCLUDE.strip(" ,\n") in checked.stderr


def test_urls_that_nothing_finds_are_one_sentence(project):
    """The index answers 503, a build fails, and neither shows a traceback."""
    project.rows(2)
    inside = 'path("", include(([path("", include(OURS))], "seo"))),'
    project.replace("mysite/urls.py", INCLUDE, f"    {inside}\n")
    project.replace("mysite/urls.py", "\nurl", f'\nOURS = "{OURS}"\n\nurl')
    status, _, logged = project.get()
    built = project.manage("build_sitemaps")
    assert (status, built.returncode) == (503, 1)
    for said in (logged, built.stderr):
        assert "The URLconf does not lead to the sitemaps. Put path(" in said
        assert "NoReverseMatch" not in said
    assert "inside the namespace 'seo'" in built.stderr


def test_the_celery_guide_as_it_is(project):
    """Its three files: web processes know the broker, and workers the tasks."""
    guide = (HOW_TO / "build-with-celery.md").read_text().replace("config.", "mysite.")
    blocks = re.findall(r"```python\n# config/(\w+\.py)\n(.*?)```", guide, re.DOTALL)
    assert [name for name, _ in blocks] == ["celery.py", "__init__.py", "settings.py"]
    for name, text in blocks:
        path = project.directory / "mysite" / name
        before = path.read_text() if path.exists() else ""
        project.write(f"mysite/{name}", before + text)
    assert "W010" not in project.manage("check").stderr
    look = "from celery import current_app as app; app.loader.import_default_modules()"
    look += "; print(app.conf.broker_url, *app.tasks)"
    broker, *tasks = project.manage("shell", "-v0", "-c", look).stdout.split()
    assert broker == "redis://127.0.0.1:6379/0"
    assert "django_sitemaps_plus.tasks.refresh" in tasks


def test_the_admin_takes_forms_behind_the_nginx_of_the_guide(project, tmp_path):
    """On a port of its own: Django compares the Origin of a form with the host."""
    with (
        served(project) as server,
        start_nginx(tmp_path, upstream=server.url, server=how_to_server()) as nginx,
    ):
        client = WebClient(nginx.url)
        login = client.get("/admin/login/")
        cookie = login["Set-Cookie"].partition(";")[0]
        token = re.search(rb'csrfmiddlewaretoken" value="(\w+)"', login.content)
        headers = {
            "Origin": nginx.url,
            "Cookie": cookie,
            "X-CSRFToken": token[1].decode(),
        }
        assert client.ask("POST", "/admin/login/", headers).status_code == 200
    assert "proxy_set_header X-Forwarded-Proto $scheme;" in how_to_server()


def test_make_demo_installs_what_the_demo_needs(tmp_path):
    """Not the tools of tests; it ends with five things to try."""
    words = ["make", "-n", "demo", f"VENV={tmp_path}/.venv", f"PYTHON={sys.executable}"]
    printed = subprocess.check_output(words, cwd=ROOT, text=True)
    (installed,) = re.findall(r'-e "\.\[(.*?)\]"', printed)
    assert installed == "demo"
    assert re.findall(r'echo "(\d)\. ', printed) == ["1", "2", "3", "4", "5"]


BASE_URL = """
import os
SITEMAPS_PLUS = {
    "BASE_URL": os.environ["ORIGIN"],
    "NOTIFY": True,
    "ENGINES": {
        "indexnow": {
            "BACKEND": "django_sitemaps_plus.notifications.engines.indexnow.IndexNow",
            "OPTIONS": {"key": "0" * 32, "endpoint": "http://127.0.0.1:9/"},
        }
    },
}
"""

TWO_SITES = """
import os
INSTALLED_APPS.append("django.contrib.sites")
SITE_ID = int(os.environ["SITE"])
SITEMAPS_PLUS = {}
"""

PAGE = "/sitemap-posts-1.xml"


@pytest.fixture
def two(project):
    """Give a project whose origin is that of the environment, with two posts."""
    project.settings(BASE_URL)
    project.rows(2)
    return project


def is_refused(text):
    """Return whether a text names both origins and what to do."""
    words = (
        "belong to https://blog.example; this process has https://zwei.example",
        " or SITE_ID, or give it a database of its own",
        "--move-origin",
    )
    return all(word in text for word in words)


def test_a_process_with_another_origin_publishes_serves_prunes_and_submits_nothing(two):
    """It served its own sitemaps until another process had built some."""
    blog = {"ORIGIN": "https://blog.example"}
    other = {"ORIGIN": "https://zwei.example"}
    status, text, _ = two.get(PAGE, **other)
    assert (status, "https://zwei.example/blog/post-1/" in text) == (200, True)
    assert two.manage("build_sitemaps", **blog).returncode == 0
    queued = two.execute("SELECT count(*) FROM sitemaps_plus_delivery")
    for command in (
        ["build_sitemaps"],
        ["sitemap_status"],
        ["prune_sitemaps"],
        ["notify_search_engines", "--all"],
    ):
        done = two.manage(*command, **other)
        assert (done.returncode, is_refused(done.stderr)) == (1, True), command
        assert "Traceback" not in done.stderr
    assert two.execute("SELECT count(*) FROM sitemaps_plus_delivery") == queued
    for path in ("/sitemap.xml", PAGE):
        status, _, logged = two.get(path, **other)
        assert (status, is_refused(logged)) == (503, True)
        assert logged.count("belong to") == 1
        assert "Traceback" not in logged
    status, text, _ = two.get(PAGE, **blog)
    assert (status, "zwei" in text) == (200, False)


def test_a_site_that_has_moved_says_so_once(two):
    """Then all is of the new origin, and a process with the old one is refused."""
    blog = {"ORIGIN": "https://blog.example"}
    other = {"ORIGIN": "https://zwei.example"}
    assert two.manage("build_sitemaps", **blog).returncode == 0
    moved = two.manage("build_sitemaps", "--move-origin", **other)
    assert (moved.returncode, moved.stderr) == (0, "")
    for path in ("/sitemap.xml", PAGE):
        status, text, _ = two.get(path, **other)
        assert (status, "blog.example" in text) == (200, False)
        assert "https://zwei.example/" in text
    assert two.manage("build_sitemaps", **other).returncode == 0
    assert two.manage("build_sitemaps", **blog).returncode == 1


def test_two_processes_with_a_site_id_of_their_own(project):
    """The second is refused, as with two BASE_URLs."""
    project.settings(TWO_SITES)
    project.rows(2)
    assert project.manage("migrate", SITE="1").returncode == 0
    project.execute("UPDATE django_site SET domain = 'blog.example'")
    project.execute("INSERT INTO django_site (domain, name) VALUES ('zwei.example','')")
    assert project.manage("build_sitemaps", SITE="1").returncode == 0
    done = project.manage("build_sitemaps", SITE="2")
    assert (done.returncode, is_refused(done.stderr)) == (1, True)
