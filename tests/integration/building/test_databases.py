"""The app's own rows: on the one database of the router, and found by an index."""

import re
from collections.abc import Sequence
from itertools import chain
from typing import Any

import pytest
from django.db import DatabaseError, connection, connections
from django.db.models import F

from django_sitemaps_plus.background.runner import Runner
from django_sitemaps_plus.building.plan import merge
from django_sitemaps_plus.conf import get_settings
from django_sitemaps_plus.models import INDEX, Page, PageQuerySet, Section, prepared
from django_sitemaps_plus.signals import urls_changed
from tests.support.builds import build_and_relay, build_fully
from tests.support.rows import ReadsReplica, RowsElsewhere, make_tables, refused
from tests.support.shop import limited, make_products, product_urls
from tests.support.testapp.models import Product
from tests.support.told import hearing

pytestmark = pytest.mark.database

#: How databases say that they read all pages.
READS_ALL = re.compile(
    "SCAN sitemaps_plus_page|Seq Scan on sitemaps_plus_page|"
    "'sitemaps_plus_page', '(ALL|index)'"
)

#: Enough for an index to be worth its while.
PAGES = 3_000


def is_ours(sql: str) -> bool:
    """Tell queries of the app's own rows; changes lie beside the objects."""
    return "sitemaps_plus_" in sql and "sitemaps_plus_change" not in sql


def urls(crawl: Any) -> list[str]:
    return list(chain.from_iterable(crawl().values()))


def live_through_everything(crawl: Any, run: Any) -> None:
    """Plan, build, serve, note a save, build, replan, audit and ask for the state."""
    with hearing(urls_changed) as heard:
        assert build_fully().problems == []
        assert urls(crawl) == product_urls(range(25))
        first = Product.objects.using("default").order_by("pk")[0]
        first.slug = "renamed"
        first.save(using="default", update_fields=["slug"])
        assert build_and_relay().sections[0].stored == 1
    renamed = "https://example.com/products/renamed/"
    assert heard[-1]["added"] == [renamed]
    assert renamed in urls(crawl)
    Product.objects.using("default").order_by("-pk")[0].delete(using="default")
    run("build_sitemaps", replan=True, full=True)
    run("sitemap_status", json=True)
    assert len(urls(crawl)) == 24


class TestReplica:
    """A router that reads from a replica, which has none of our tables."""

    def test_nothing_of_ours_is_read_there(
        self, stock, settings, other_database, crawl, run
    ):
        """What a builder has just claimed or marked a replica may not have yet."""
        stock(25)
        settings.DATABASE_ROUTERS = [ReadsReplica(other_database)]
        with refused(other_database, lambda sql: "sitemaps_plus_" in sql):
            live_through_everything(crawl, run)


class TestElsewhere:
    """A router that puts the app on another database than the rows that it lists."""

    @pytest.fixture(autouse=True)
    def elsewhere(self, sections: Any, settings: Any, other_database: str) -> str:
        """Have products by default, and the app's rows on the other database."""
        make_products(25)
        make_tables(other_database)
        sections.register("products", limited(10))
        settings.DATABASE_ROUTERS = [RowsElsewhere(other_database)]
        return other_database

    def test_nothing_of_ours_is_asked_of_the_default(self, crawl, run):
        """But changes, which are written in the transaction of their object."""
        with refused("default", is_ours):
            live_through_everything(crawl, run)

    def test_a_flip_is_one_transaction_there(self, elsewhere):
        """Where its last page fails, none of them is flipped."""
        build_fully()
        Product.objects.update(name="same")  # no signal, and another build is full
        Product.objects.filter(slug="product-00001").update(slug="renamed")
        before = list(Page.objects.order_by("pk").values_list("object", "built"))
        flips: list[str] = []

        def fail_third(execute: Any, sql: str, *rest: Any) -> Any:
            flips.extend([sql] * (sql.startswith("UPDATE") and "gzip_hash" in sql))
            if len(flips) >= 3:
                raise DatabaseError("the third pointer")
            return execute(sql, *rest)

        with (
            connections[elsewhere].execute_wrapper(fail_third),
            pytest.raises(Exception, match="the third pointer"),
        ):
            build_fully()
        after = list(Page.objects.order_by("pk").values_list("object", "built"))
        assert after == before

    def test_a_merge_is_one_transaction_there(self, elsewhere, monkeypatch):
        """Where its second page is lost meanwhile, the first keeps its range."""
        build_fully()
        before = list(Page.objects.order_by("pk").values_list("pk", "low", "high"))
        Product.objects.filter(slug__gte="product-00003").delete()
        real = merge.pointer

        def lose(page: Any, *args: Any) -> Any:
            Page.objects.filter(number__gt=page.number).update(token="another's")
            return real(page, *args)

        with monkeypatch.context() as patch:
            patch.setattr(merge, "pointer", lose)
            build_fully(allow_shrink=True)
        after = list(Page.objects.order_by("pk").values_list("pk", "low", "high"))
        assert after == before


def rows_of(name: str, *shape: Any, **values: Any) -> Any:
    """Return what a prepared method makes of its arguments."""
    return getattr(PageQuerySet, name).__wrapped__(Page.objects, *shape, **values)


def explain(sql: str, params: Sequence[Any]) -> str:
    words = "EXPLAIN QUERY PLAN" if connection.vendor == "sqlite" else "EXPLAIN"
    with connection.cursor() as cursor:
        cursor.execute(f"{words} {sql}", params)
        return str(cursor.fetchall())


def analyze() -> None:
    """Have the database look at the pages; by itself it does so at any time."""
    if connection.vendor != "mysql":  # which always does, and here would commit
        with connection.cursor() as cursor:
            cursor.execute("ANALYZE sitemaps_plus_page")


class TestQueryPlans:
    """An index finds what each refresh asks, whatever statistics say."""

    @pytest.fixture
    def section(self) -> Section:
        """Give many pages that are dirty; no database has looked at them yet."""
        section = Section.objects.create(site="default", name="products")
        Page.objects.bulk_create(
            Page(section=section, number=n, low=str(n), low_number=n)
            for n in range(1, PAGES + 1)
        )
        return section

    def test_an_index_finds_what_is_asked(self, section):
        # The page that owns a key has the next lower bound; others are left alone.
        rows = rows_of("owners_from_below", section=section.pk, key=PAGES // 2)
        assert "sitemaps_plus_low" in explain(*rows.query.sql_with_params())
        # Each flip marks the index while others wait, and MariaDB locks what it reads.
        index = Section.objects.create(site="default", name=INDEX)
        Page.objects.create(section=index, number=0)
        marked = prepared._update(*rows_of("raise_all", section=index.pk), "default")
        assert not READS_ALL.search(explain(marked.sql, marked.params))

        # Most refreshes ask in vain for dirty pages, and must not read all for that.
        analyze()  # in the middle of a first build
        section.pages.update(built=F("wanted"))
        rows = rows_of("first_dirty", (section.pk,))
        assert "sitemaps_plus_dirty" in explain(*rows.query.sql_with_params())

        # Pages that wait for another attempt are not read again and again.
        section.pages.filter(number__lte=10).update(built=0)
        analyze()
        rows = rows_of("fresh", (section.pk,), get_settings().lease)
        assert "sitemaps_plus_dirty" in explain(*rows.query.sql_with_params())

        # A worker without a broker asks every two seconds, of all sections.
        runner = Runner(print, print, print)
        runner._sections = (section.pk,)
        asked = list[tuple[str, Any]]()

        def note(execute: Any, sql: str, params: Any, *others: Any) -> Any:
            asked.append((sql, params))
            return execute(sql, params, *others)

        with connection.execute_wrapper(note):
            assert runner._look()[1] == {"products": 10}
        [query] = asked
        assert "sitemaps_plus_dirty" in explain(*query)
