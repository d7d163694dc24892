"""Code of projects around a source: routers, names of their own, caches of the ORM."""

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.sitemaps import GenericSitemap
from django.core.exceptions import EmptyResultSet
from django.db.models.sql.compiler import SQLCompiler
from django.urls import path

from django_sitemaps_plus import Entry, ModelSource, Source, ViewSource
from django_sitemaps_plus.contrib import views as drop_in
from django_sitemaps_plus.sources import Reader, base, reader_of
from django_sitemaps_plus.sources.reading import ModelReader
from tests.support.builds import build_and_relay, build_fully
from tests.support.documents import all_locs, locs
from tests.support.rendered import pages_of, plain, plan_of, render
from tests.support.shop import ProductSource, limited, make_products, product_urls
from tests.support.testapp.models import Product
from tests.support.urls import urlpatterns


@pytest.mark.database
class TestDatabases:
    @pytest.fixture(autouse=True)
    def elsewhere(self, other_database):
        for number in range(5):
            Product.objects.using(other_database).create(slug=f"elsewhere-{number}")
        Product.objects.using("default").create(slug="here")

    @pytest.mark.parametrize("way", ["using", "router", "queryset"])
    def test_the_database_of_rows_is_chosen(self, settings, other_database, way):
        """A replica may lag, so db_for_write counts and db_for_read does not.

        What get_queryset chooses goes before the router.
        """
        if way == "using":
            source = limited(2, using=other_database)
        elif way == "router":
            source = limited(2)
            settings.DATABASE_ROUTERS = [WritesTo(other_database)]
        else:
            rows = Product.objects.using(other_database).all()
            source = limited(2, get_queryset=lambda self: rows)
            settings.DATABASE_ROUTERS = [WritesTo("default")]
        assert len(plan_of(source)) == 3
        assert all_locs(pages_of(source)) == [
            f"https://example.com/products/elsewhere-{number}/" for number in range(5)
        ]

    def test_else_the_default_is_read(self):
        assert locs(plain(render(ProductSource))) == [
            "https://example.com/products/here/"
        ]


class WritesTo:
    """A router that reads from a replica."""

    def __init__(self, alias: str) -> None:
        self.alias = alias

    def db_for_read(self, model: Any, **hints: Any) -> str:
        return "default"

    def db_for_write(self, model: Any, **hints: Any) -> str:
        return self.alias


#: What a subclass may have as well: what our own code calls the parts of its readers,
#: and what it once called methods of sources.
NAMES = {
    name
    for kind in (Reader, ModelReader)
    for name in [*vars(kind), *vars(kind(Source()))]
    if not name.startswith("__")
} | {"queryset", "declaration", "uses_instances", "roomy", "items", "bounded_keys"}

#: What is documented.
DOCUMENTED = {*vars(base.Source), *vars(base.ModelSource), *vars(base.ViewSource)}


class Entries(Source):
    def entries(self, origin: str) -> list[Entry]:
        return [Entry(f"{origin}/{letter}/") for letter in "abc"]


class Views(ViewSource):
    views = ("home", "about")


def with_own_names(kind: type[Source], value: Any) -> type[Source]:
    own = dict.fromkeys(NAMES - DOCUMENTED, value)
    return type(f"Own{kind.__name__}", (kind,), own)


@pytest.mark.parametrize("kind", [Entries, ProductSource, Views])
@pytest.mark.parametrize("value", [5, lambda self, *args: "mine"])
def test_a_source_may_have_methods_of_any_name(kind, value, sections, client):
    """Planned, served, built, and noticed as one without them."""
    assert {"count", "chunks", "key_space", "max_entries"} <= NAMES - DOCUMENTED
    make_products(3)
    sections.register("plain", kind)
    sections.register("own", with_own_names(kind, value))

    def listed(section: str) -> list[str]:
        return locs(client.get(f"/sitemap-{section}-1.xml").content)

    expected = listed("plain")
    assert len(expected) >= 2
    assert listed("own") == expected
    report = build_fully()
    assert [section.errors for section in report.sections] == [[], []]
    assert listed("own") == expected
    Product.objects.order_by("pk")[0].save()
    assert [section.errors for section in build_fully().sections] == [[], []]


def test_the_reader_is_that_of_the_kind():
    mixed = type("Mixed", (ProductSource,), {"chunks": None})
    reader: Callable[..., Any] = reader_of
    assert type(reader(mixed())) is ModelReader


class Methods(ModelSource):
    model = Product
    limit = 10

    def location(self, product: Product) -> str:
        return product.get_absolute_url()


class Classes(GenericSitemap):
    limit = 10

    def __init__(self) -> None:
        super().__init__({"queryset": Product.objects.order_by("pk")})


class Project:
    of_url = {"sitemaps": {"classes": Classes}}
    urlpatterns = [*urlpatterns, path("theirs.xml", drop_in.sitemap, of_url)]


@pytest.fixture
def kept(monkeypatch: Any) -> dict[Any, Any]:
    """Wrap all compilers by a cache that knows queries by their SQL alone.

    Like those that projects have it keeps lists, whatever kind of result it was asked
    for; our own tables are excepted from it.
    """
    results: dict[Any, Any] = {}
    execute_sql = SQLCompiler.execute_sql

    def execute(compiler: Any, *args: Any, **kwargs: Any) -> Any:
        table = compiler.query.get_meta().db_table
        if type(compiler).__name__ != "SQLCompiler" or table.startswith("sitemaps_"):
            return execute_sql(compiler, *args, **kwargs)
        try:
            key = str(compiler.as_sql())
        except EmptyResultSet:
            return execute_sql(compiler, *args, **kwargs)
        if key not in results:
            found = execute_sql(compiler, *args, **kwargs)
            is_many = not isinstance(found, tuple | None)
            results[key] = list(found) if is_many else found
        return results[key]

    monkeypatch.setattr(SQLCompiler, "execute_sql", execute)
    return results


@pytest.mark.database
@pytest.mark.parametrize("source", [limited(10), Methods, Classes])
@pytest.mark.parametrize("is_built", [False, True])
def test_all_rows_are_listed(sections, crawl, kept, source, is_built):
    products = make_products(25)
    sections.register("products", source)
    if is_built:
        build_fully()
    for _ in range(2):
        found = list(crawl().values())
        assert [len(page) for page in found] == [10, 10, 5]
        assert [url for page in found for url in page] == product_urls(range(25))
    products[3].slug = "edited"
    products[3].save()
    kept.clear()
    if is_built:
        build_and_relay()
    assert crawl()["/sitemap-products-1.xml"][3].endswith("/edited/")


def test_so_they_are_in_the_place_of_contribs_views(settings, client, kept):
    settings.ROOT_URLCONF = Project
    make_products(25)
    for _ in range(2):
        assert len(locs(client.get("/theirs.xml?p=3").content)) == 5
