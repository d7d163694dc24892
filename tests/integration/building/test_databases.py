"""The app's own rows are read and written on the one database that the router names."""

from __future__ import annotations

from itertools import chain
from typing import Any

import pytest
from django.db import DatabaseError, connections

from django_sitemaps_plus.building.plan import merge
from django_sitemaps_plus.models import Page
from django_sitemaps_plus.signals import urls_changed
from tests.support.builds import build_and_relay, build_fully
from tests.support.rows import ReadsReplica, RowsElsewhere, make_tables, refused
from tests.support.shop import limited, make_products, product_urls
from tests.support.testapp.models import Product
from tests.support.told import hearing

pytestmark = pytest.mark.database


def is_ours(sql: str) -> bool:
    """Tell queries of the app's own rows; changes lie beside the objects."""
    return "sitemaps_plus_" in sql and "sitemaps_plus_change" not in sql


def urls(crawl: Any) -> list[str]:
    """Return all that a crawler finds, in its order."""
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
        self, sections, settings, other_database, crawl, run
    ):
        """What a builder has just claimed or marked a replica may not have yet."""
        make_products(25)
        sections.register("products", limited(10))
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
