"""Which database the rows of a source are read from."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.documents import locs
from tests.support.rendered import plain, plan_of, render
from tests.support.shop import ProductSource, limited, make_products
from tests.support.testapp.models import Product

pytestmark = pytest.mark.database


class TestDatabases:
    """Which database is read."""

    def test_using_names_the_database(self, other_database):
        """``using`` reads rows, and plans, from that alias."""
        make_products(3)
        Product.objects.using(other_database).create(slug="elsewhere")

        class Source(ProductSource):
            using = other_database

        assert locs(plain(render(Source))) == [
            "https://example.com/products/elsewhere/"
        ]

    def test_plans_are_made_on_the_same_database(self, other_database):
        """The ranges are those of the rows that are read."""
        for number in range(5):
            Product.objects.using(other_database).create(slug=f"p-{number}")
        assert len(plan_of(limited(2, using=other_database))) == 3
        assert len(plan_of(limited(2))) == 1

    def test_the_router_is_asked_where_rows_are_written(self, settings, other_database):
        """A replica may lag, so db_for_write counts and db_for_read does not."""
        settings.DATABASE_ROUTERS = [WritesElsewhere(other_database)]
        Product.objects.using("default").create(slug="replica")
        Product.objects.using(other_database).create(slug="primary")
        assert locs(plain(render(ProductSource))) == [
            "https://example.com/products/primary/"
        ]

    def test_the_queryset_may_name_a_database_itself(self, settings, other_database):
        """What get_queryset chooses goes before the router."""
        Product.objects.using(other_database).create(slug="chosen")

        class Source(ProductSource):
            def get_queryset(self):
                return Product.objects.using(other_database)

        assert locs(plain(render(Source))) == ["https://example.com/products/chosen/"]


class WritesElsewhere:
    """A router that reads from a replica."""

    def __init__(self, alias: str) -> None:
        self.alias = alias

    def db_for_read(self, model: Any, **hints: Any) -> str:
        """Read from the default."""
        return "default"

    def db_for_write(self, model: Any, **hints: Any) -> str:
        """Write elsewhere."""
        return self.alias
