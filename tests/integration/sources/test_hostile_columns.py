"""Whatever is in the columns of a declared source, the page is valid."""

from __future__ import annotations

from datetime import date

import pytest
from django.db import connection
from django.db.models import Case, F, Value, When
from django.db.models.functions import Repeat

from django_sitemaps_plus import ModelSource, Route
from tests.integration.sources.hostile import ORIGIN
from tests.support.documents import locs, read_urlset
from tests.support.rendered import plain, render
from tests.support.shop import ProductSource, make_products
from tests.support.testapp.models import Product

pytestmark = [pytest.mark.database, pytest.mark.django_db]


class TestColumns:
    """Declared sources: the database holds what is hostile."""

    locations = (
        ("/control/\x01\x0b\x1f/", f"{ORIGIN}/control/%01%0B%1F/"),
        ("/\ufffe/🎉/", f"{ORIGIN}/%EF%BF%BE/%F0%9F%8E%89/"),
        ("/<&>'\"/", f"{ORIGIN}/%3C&%3E'%22/"),
        (f"{ORIGIN}/own/", f"{ORIGIN}/own/"),
        ("https://evil.example/", None),
        ("//evil.example/", None),
        ("relative/", None),
        ("javascript:alert(1)", None),
        ("", None),
        ("/fine/", f"{ORIGIN}/fine/"),
    )

    def test_locations(self):
        """A column of paths lists those that can be listed."""
        for number, (path, _) in enumerate(self.locations):
            make_products(1, first=number, name=path)

        class Source(ModelSource):
            model = Product
            location = "name"

        page = render(Source)
        assert locs(plain(page)) == [loc for _, loc in self.locations if loc]
        assert (page.tally.entries, page.tally.skipped, page.tally.dropped) == (5, 5, 0)
        assert "row ('//evil.example/',) left out" in page.tally.problems[1]

    @pytest.mark.parametrize("as_method", [False, True])
    def test_a_slug_of_3000_characters_is_left_out(self, as_method):
        """One URL that is too long takes no other with it."""
        make_products(3)
        long = Case(When(slug__endswith="1", then=Value(250)), default=Value(1))

        class Source(ModelSource):
            model = Product
            location = Route("label-detail", code=Repeat(F("slug"), long))
            lastmod = "updated_at"

        attributes = {"priority": lambda self, row: None} if as_method else {}
        page = render(type("Source", (Source,), attributes))
        assert locs(plain(page)) == [
            f"{ORIGIN}/labels/product-0000{number}/" for number in (0, 2)
        ]
        assert page.tally.skipped == 1
        assert "3,2" in page.tally.problems[0]

    def test_a_value_that_no_url_takes_is_left_out(self):
        """What reverse() refuses is a row without a location."""
        make_products(3)
        Product.objects.filter(slug__endswith="1").update(slug="not/a/slug ü")
        page = render(ProductSource)
        assert len(locs(plain(page))) == 2
        assert "NoReverseMatch" in page.tally.problems[0]

    def test_changefreq_and_priority(self):
        """Bad values in columns are left out of their entries alone."""
        for number, (word, value) in enumerate(
            [("daily", 0.5), ("sometimes", -1.0), ("never", 1e9), ("", None)]
        ):
            make_products(1, first=number, frequency=word, popularity=value)

        class Source(ProductSource):
            changefreq = "frequency"
            priority = "popularity"

        page = render(Source)
        assert [(e.changefreq, e.priority) for e in read_urlset(plain(page))] == [
            ("daily", "0.5"),
            (None, None),
            ("never", None),
            (None, None),
        ]
        assert (page.tally.entries, page.tally.skipped, page.tally.dropped) == (4, 0, 4)

    @pytest.mark.skipif(connection.vendor != "postgresql", reason="no NaN in a column")
    def test_a_column_may_hold_nan(self):
        """NaN is no priority."""
        make_products(1, popularity=float("nan"))

        class Source(ProductSource):
            priority = "popularity"

        assert read_urlset(plain(render(Source)))[0].priority is None
        assert render(Source).tally.dropped == 1

    def test_text_columns_may_hold_dates(self):
        """Text that is a W3C date is a lastmod; other text is left out."""
        texts = ["2026-02-28", "yesterday", "2026-13-01", "", "20260228"]
        for number, text in enumerate(texts):
            make_products(1, first=number, frequency=text)

        class Source(ProductSource):
            lastmod = "frequency"

        page = render(Source)
        found = [entry.lastmod for entry in read_urlset(plain(page))]
        assert found == ["2026-02-28", None, None, None, None]
        assert page.tally.dropped == 4

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
