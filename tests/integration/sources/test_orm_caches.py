"""Caches of the ORM, which put lists in the place of what the compiler returns."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.sitemaps import GenericSitemap
from django.core.exceptions import EmptyResultSet
from django.db.models.sql.compiler import SQLCompiler
from django.urls import path

from django_sitemaps_plus import ModelSource
from django_sitemaps_plus.contrib import views as drop_in
from tests.support.builds import build_and_relay, build_fully
from tests.support.documents import locs
from tests.support.shop import limited, make_products, product_urls
from tests.support.testapp.models import Product
from tests.support.urls import urlpatterns

pytestmark = pytest.mark.database


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
    """The usual URLs, and the class by a view in the place of contrib's."""

    of_url = {"sitemaps": {"classes": Classes}}
    urlpatterns = [*urlpatterns, path("theirs.xml", drop_in.sitemap, of_url)]


@pytest.fixture(autouse=True)
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


@pytest.mark.parametrize("source", [limited(10), Methods, Classes])
@pytest.mark.parametrize("is_built", [False, True])
def test_all_rows_are_listed(sections, crawl, kept, source, is_built):
    """At first, out of the cache, and once it has forgotten what was edited."""
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


def test_so_they_are_in_the_place_of_contribs_views(settings, client):
    settings.ROOT_URLCONF = Project
    make_products(25)
    for _ in range(2):
        assert len(locs(client.get("/theirs.xml?p=3").content)) == 5
