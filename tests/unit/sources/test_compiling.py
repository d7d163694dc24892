"""From declarations to columns and a renderer, without a query."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from typing import Any

from django.db.models import CharField, F

from django_sitemaps_plus import ModelSource, Route
from django_sitemaps_plus.conf import Site
from django_sitemaps_plus.sources.compiling import compile_lines
from django_sitemaps_plus.sources.lines import Tally
from django_sitemaps_plus.sources.reading import listed_rows
from tests.support.testapp.models import Product

from .zoo import ZOO, surroundings

SITE = Site("default", "https://shop.example")


def compiled(**values: Any) -> Any:
    """Return the columns and the renderer of a source with the values."""
    declared = {"model": Product, "location": Route("product-detail", slug="slug")}
    source = type("DeclaredSource", (ModelSource,), {**declared, **values})()
    return compile_lines(source, listed_rows(source), SITE)


def test_a_lastmod_field_is_selected_as_text():
    """Parsing timestamps would be most of the time."""
    columns, _ = compiled(lastmod="updated_at")
    slug, lastmod = columns.expressions
    assert slug == F("slug")
    assert isinstance(lastmod.output_field, CharField)
    assert lastmod.source_expressions == [F("updated_at")]


def test_the_arguments_of_a_route_may_have_any_order():
    """Values are selected in the order of the route, and written in the URL's."""
    with surroundings(ZOO):
        columns, lines = compiled(location=Route("swapped", a="slug", b="pk"))
    assert columns.expressions == [F("slug"), F("pk")]
    text = "<url><loc>https://shop.example/swapped/5/xshoe.html</loc></url>\n"
    assert lines.render([("shoe", 5)], Tally("s")) == text


def test_a_repetition_is_found_in_any_batch():
    """Also beside a row that is written in another way."""
    tally = Tally("s")
    with surroundings(ZOO):
        _, lines = compiled(location=Route("str", a="pk"))
        lines = replace(lines, seen=set())
        for batch in ([("a",)], [("a",), ("b\nc",)], [("b\nc",), ("d",)]):
            lines.render(batch, tally)
    assert (tally.entries, tally.repeated) == (3, 2)


def test_constants_are_written_in_their_final_form():
    """Whatever their type."""
    _, lines = compiled(changefreq="daily", priority=Decimal("0.50"))
    assert lines.render([("shoe",)], Tally("s")) == (
        "<url><loc>https://shop.example/products/shoe/</loc>"
        "<changefreq>daily</changefreq><priority>0.5</priority></url>\n"
    )
