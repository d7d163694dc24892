"""Methods and attributes of a user's own: no name is taken but the documented ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from django_sitemaps_plus import Entry, ModelSource, Route, Source, ViewSource
from django_sitemaps_plus.sources import Reader, base, reader_of
from django_sitemaps_plus.sources.reading import ModelReader
from tests.support.builds import build_fully
from tests.support.documents import locs
from tests.support.shop import make_products
from tests.support.testapp.models import Product

#: What a subclass may have as well: what our own code calls the parts of its readers,
#: and what it once called methods of sources.
NAMES = {
    name
    for kind in (Reader, ModelReader)
    for name in [*vars(kind), *vars(kind(Source()))]
    if not name.startswith("__")
} | {"queryset", "declaration", "uses_instances", "roomy", "items", "bounded_keys"}

#: What is documented.
DOCUMENTED = {
    *vars(base.Source),
    *vars(base.ModelSource),
    *vars(base.ViewSource),
}


class Entries(Source):
    """Entries of any origin."""

    def entries(self, origin: str) -> list[Entry]:
        """Return them."""
        return [Entry(f"{origin}/{letter}/") for letter in "abc"]


class Products(ModelSource):
    """Rows."""

    model = Product
    location = Route("product-detail", slug="slug")
    lastmod = "updated_at"


class Views(ViewSource):
    """Views."""

    views = ("home", "about")


def with_own_names(kind: type[Source], value: Any) -> type[Source]:
    own = dict.fromkeys(NAMES - DOCUMENTED, value)
    return type(f"Own{kind.__name__}", (kind,), own)


def test_readers_have_names_of_their_own():
    """The names that this is about are among them."""
    assert {"count", "chunks", "key_space", "max_entries"} <= NAMES - DOCUMENTED


@pytest.mark.parametrize("kind", [Entries, Products, Views])
@pytest.mark.parametrize("value", [5, lambda self, *args: "mine"])
def test_a_source_may_have_methods_of_any_name(kind, value, sections, client):
    """It is planned, served, built, and noticed as one without them is."""
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
    """Whatever else the class inherits."""
    mixed = type("Mixed", (Products,), {"chunks": None})
    reader: Callable[..., Any] = reader_of
    assert type(reader(mixed())) is ModelReader
