"""Whatever is in the columns of a declared source, the page is valid."""

from __future__ import annotations

from datetime import date

import pytest
from django.db import connection

from tests.support.documents import read_urlset
from tests.support.rendered import plain, render
from tests.support.shop import ProductSource, make_products

pytestmark = pytest.mark.database


class TestColumns:
    """Declared sources: the database holds what is hostile."""

    @pytest.mark.skipif(connection.vendor != "postgresql", reason="no NaN in a column")
    def test_a_column_may_hold_nan(self):
        """NaN is no priority."""
        make_products(1, popularity=float("nan"))

        class Source(ProductSource):
            priority = "popularity"

        assert read_urlset(plain(render(Source)))[0].priority is None
        assert render(Source).tally.dropped == 1

    @pytest.mark.skipif(connection.vendor != "postgresql", reason="no such dates")
    @pytest.mark.parametrize("text", ["infinity", "-infinity", "12345-01-01"])
    @pytest.mark.parametrize("column", ["updated_at", "created_on"])
    def test_dates_that_python_cannot_hold_are_left_out(self, text, column):
        """A page survives dates of another reckoning, and says none of them."""
        make_products(2, created_on=date(2026, 1, 1))
        with connection.cursor() as cursor:
            cursor.execute(
                f"UPDATE testapp_product SET {column} = %s WHERE slug LIKE '%%1'",  # noqa: S608
                [text],
            )

        class Source(ProductSource):
            lastmod = column

        page = render(Source)
        first, second = read_urlset(plain(page))
        assert first.lastmod is not None
        assert second.lastmod is None
