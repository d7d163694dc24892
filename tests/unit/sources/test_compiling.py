"""From declarations to columns and a renderer, without a query."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from django.db.models import CharField, F

from django_sitemaps_plus import ModelSource, Route
from django_sitemaps_plus.conf import Site
from django_sitemaps_plus.sources.declarations import compile_renderer
from django_sitemaps_plus.sources.fast import Lines
from django_sitemaps_plus.sources.lines import Tally
from tests.support.testapp.models import Product

from .zoo import ZOO, surroundings

SITE = Site("default", "https://shop.example")


def compiled(**values: Any) -> Any:
    """Return the columns and the renderer of a source with the values."""
    declared = {"model": Product, "location": Route("product-detail", slug="slug")}
    source = type("DeclaredSource", (ModelSource,), {**declared, **values})()
    return compile_renderer(source, "default", SITE)


class TestColumns:
    def test_a_lastmod_field_is_selected_as_text(self):
        """Parsing timestamps would be most of the time."""
        columns, _ = compiled(lastmod="updated_at")
        slug, lastmod = columns.expressions
        assert slug == F("slug")
        assert isinstance(lastmod.output_field, CharField)
        assert lastmod.source_expressions == [F("updated_at")]

    def test_the_arguments_of_a_route_come_in_the_order_of_the_url(self):
        """The fast way needs no second look at them."""
        with surroundings(ZOO):
            columns, renderer = compiled(location=Route("swapped", a="slug", b="pk"))
        assert columns.expressions == [F("pk"), F("slug")]
        row = (5, "shoe")
        text = "<url><loc>https://shop.example/swapped/5/xshoe.html</loc></url>\n"
        assert renderer.fast([row], Tally("s")) == text
        slow = type(renderer)(renderer.getters, renderer.origin)
        assert slow.render([row], Tally("s")) == text


class TestFastLines:
    @pytest.mark.parametrize(
        "values",
        [
            {},
            {"location": "slug"},
            {"lastmod": "updated_at"},
            {"lastmod": "created_on", "changefreq": "daily", "priority": 0.5},
        ],
    )
    def test_a_simple_source_has_them(self, values):
        """A route or a column of paths, a date field, constants."""
        assert isinstance(compiled(**values)[1].fast, Lines)

    @pytest.mark.parametrize(
        "values",
        [
            {"lastmod": F("updated_at")},
            {"lastmod": "name"},
            {"changefreq": "frequency"},
            {"changefreq": "often"},
            {"priority": "popularity"},
            {"priority": F("popularity")},
            {"priority": 5},
            {"images": "name"},
            {"news": lambda self, obj: None},
            {"location": lambda self, obj: "/"},
            {"location": None},
            {"location": Route("home")},
        ],
    )
    def test_anything_else_goes_row_by_row(self, values):
        """Columns that need a check, bad constants, instances, no column at all."""
        assert compiled(**values)[1].fast is None

    def test_a_pattern_that_is_not_plain_goes_row_by_row(self):
        """As regular expressions do."""
        with surroundings(ZOO):
            _, renderer = compiled(location=Route("re-any", a="slug"))
        assert renderer.fast is None

    def test_a_short_origin_goes_row_by_row(self):
        """A location of it may have fewer than the 12 characters that it must have."""
        declared = {"model": Product, "location": "slug"}
        source = type("ShortSource", (ModelSource,), declared)()
        _, renderer = compile_renderer(source, "default", Site("default", "http://a.b"))
        tally = Tally("s")
        assert renderer.render([("/",), ("/b",)], tally).count("<url>") == 1
        assert (tally.entries, tally.skipped) == (1, 1)

    def test_constants_are_written_in_their_final_form(self):
        """Also by the fast way."""
        _, renderer = compiled(changefreq="daily", priority=Decimal("0.50"))
        assert renderer.fast([("shoe",)], Tally("s")) == (
            "<url><loc>https://shop.example/products/shoe/</loc>"
            "<changefreq>daily</changefreq><priority>0.5</priority></url>\n"
        )
