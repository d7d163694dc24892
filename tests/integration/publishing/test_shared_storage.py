"""T33: databases, or schemas of one, that share a storage leave each other alone."""

from collections.abc import Iterator
from contextlib import contextmanager
from gzip import decompress as gunzip
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.core.management import call_command
from django.db import connection, connections
from django.test import override_settings

from django_sitemaps_plus.diagnostics import doctor
from django_sitemaps_plus.models import Page, Section
from tests.integration.diagnostics.time import pass_time
from tests.support.published import all_rows
from tests.support.rows import RowsElsewhere, make_tables, own_tables
from tests.support.testapp.models import Product

from .names import wrong_names

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(params=["database", "schema"])
def second(request: Any) -> Iterator[str]:
    """Give the alias of another database, or schema, with tables of ours."""
    if request.param == "database":
        alias: str = request.getfixturevalue("other_database")
        make_tables(alias)
        yield alias
        return
    if connection.vendor != "postgresql":
        pytest.skip("only PostgreSQL has schemas")
    with connection.cursor() as cursor:
        cursor.execute("CREATE SCHEMA second")
    given = {**connections.settings["default"]}
    given["OPTIONS"] = {**given["OPTIONS"], "options": "-c search_path=second,public"}
    connections.settings["second"] = given
    try:
        connections["second"].connect()
        make_tables("second")
        yield "second"
    finally:
        connections["second"].close()
        del connections.settings["second"], connections["second"]
        with connection.cursor() as cursor:
            cursor.execute("DROP SCHEMA second CASCADE")


@pytest.fixture(autouse=True)
def rows(stock: Any) -> None:
    """Have three pages of products, which both databases list."""
    stock(25)


@contextmanager
def using(alias: str) -> Iterator[None]:
    with override_settings(DATABASE_ROUTERS=[RowsElsewhere(alias)]):
        yield


def build(*options: str) -> None:
    call_command("build_sitemaps", *options, verbosity=0)


def edit(number: int, slug: str) -> None:
    """Change a product, and have both databases look at all pages."""
    Product.objects.filter(slug=f"product-{number:05}").update(slug=slug)


def prune_long_after() -> None:
    """Prune twice, each when all that lies there is old."""
    for _ in range(2):
        pass_time()
        call_command("prune_sitemaps", verbosity=0)


def lost(media_root: Path) -> list[str]:
    named = Page.objects.exclude(object="").values_list("object", flat=True)
    return [it for it in named if not (media_root / "sitemaps" / it).exists()]


def namespace() -> str:
    (found,) = Section.objects.values_list("namespace", flat=True).distinct()
    named = Page.objects.exclude(object="").values_list("object", flat=True)
    assert {it.partition("/")[0] for it in named} == {found}
    return found


def put(model: Any, row: dict[str, Any], alias: str) -> None:
    names = [it.attname for it in model._meta.concrete_fields if not it.generated]
    model(**{name: row[name] for name in names}).save(using=alias)


@pytest.mark.database
def test_each_builds_and_prunes_by_itself(second, media_root):
    aliases, names = ("default", second), []
    for alias in aliases:
        with using(alias):
            build()
            names.append(namespace())
    assert len({*names, ""}) == 3
    for number, alias in enumerate(aliases * 2):
        edit(number, f"edited-{number}")
        with using(alias):
            build("--full")
            prune_long_after()
        for other in aliases:
            with using(other):
                assert lost(media_root) == []
    for alias, name in zip(aliases, names, strict=True):
        with using(alias):
            assert namespace() == name
    stored = [*(media_root / "sitemaps").glob("*/*/*/*.xml.gz")]
    assert len(stored) == 8  # what each of them publishes, and no more


def test_one_is_restored_in_place(second, media_root, client):
    """To what it was before its last build; the other has gone on."""
    for alias in ("default", second):
        with using(alias):
            build()
    before = all_rows()
    edit(3, "edited")
    build("--full")
    with using(second):
        build("--full")
        prune_long_after()
    Page.objects.all().delete()
    for model in (Section, Page):
        for row in before[model.__name__]:
            put(model, row, "default")
    build("--full")
    prune_long_after()
    for alias in ("default", second):
        with using(alias):
            assert lost(media_root) == []
            assert b"/edited/" in client.get("/sitemap-products-1.xml").content


def test_public_names_belong_to_the_first(second, media_root, messages):
    public = media_root / "sitemaps" / "public"
    build()
    assert wrong_names(public) == []
    assert messages("public_names_of_others") == []
    edit(3, "edited")
    with using(second):
        build()
        assert messages("public_names_of_others")
        prune_long_after()
        found = {it.name: it for it in doctor.examine()}
        assert found["public names"].ok is None
    assert "public names" not in {it.name for it in doctor.examine()}
    before = {path: path.read_bytes() for path in public.glob("sitemap*")}
    assert len(before) == 4
    with using(second):
        build("--full")
        call_command("build_sitemaps", "products", "--live", verbosity=0)
    assert {path: path.read_bytes() for path in public.glob("sitemap*")} == before
    build("--full")
    assert wrong_names(public) == []


def test_public_names_stay_where_another_has_built_nothing(second, media_root):
    build()
    public = media_root / "sitemaps" / "public"
    with using(second):
        call_command("build_sitemaps", "products", "--live", verbosity=0)
    assert wrong_names(public) == []
    with using(second):
        prune_long_after()
    assert len([*public.glob("sitemap*")]) == 4


@pytest.mark.database
def test_a_copy_takes_a_namespace_of_its_own(second, media_root):
    """And deletes nothing that it was copied with."""
    build()
    original = namespace()
    for model in own_tables():
        for row in model.objects.values():
            put(model, row, second)
    with using(second):
        build("--new-namespace")
        copied = namespace()
        assert copied != original
        build()
        assert namespace() == copied
    for number, alias in enumerate([second, "default", second]):
        edit(number, f"edited-{number}")
        with using(alias):
            build("--full")
            prune_long_after()
        for other in ("default", second):
            with using(other):
                assert lost(media_root) == []
    assert namespace() == original


def test_sites_of_a_copy_share_its_namespace(sections, media_root):
    """Public names belong to one namespace, and those of all sites are in one place."""
    sites = {name: {"BASE_URL": f"https://{name}.example"} for name in ("shop", "blog")}
    with override_settings(SITEMAPS_PLUS={**settings.SITEMAPS_PLUS, "SITES": sites}):
        build()
        original = namespace()
        build("--new-namespace")
        assert namespace() != original
        public = media_root / "sitemaps" / "public"
        (public / ".namespace").unlink()
        edit(3, "edited")
        build("--full")
        for name in sites:
            found = gunzip((public / name / "sitemap-products-1.xml.gz").read_bytes())
            assert b"/edited/" in found
