"""Lines of single rows: what engines are told of where saves are announced."""

from __future__ import annotations

from inspect import isfunction
from typing import Any

import pytest
from django.db.models import CharField, Value
from django.db.models.functions import Concat

from django_sitemaps_plus import ModelSource
from django_sitemaps_plus.registry import registry
from django_sitemaps_plus.sources import Tally, reader_of, surroundings
from tests.integration.sources import contrib_zoo as zoo
from tests.support.rendered import SITE
from tests.support.shop import ProductSource, limited, make_products
from tests.support.testapp.models import Product, Shop

pytestmark = pytest.mark.database

PATH = Concat(Value("/"), "slug", output_field=CharField())

BY_KEY = [
    ProductSource,
    limited(3, location=lambda self, product: f"/{product.slug}/"),
    limited(3, location=PATH, lastmod=None, key="slug"),
    limited(3, location=Value("/all/"), lastmod=None),
    limited(3, get_queryset=lambda self: Product.objects.order_by("name").distinct()),
    *zoo.BY_KEY,
]
KINDS = [*BY_KEY, *zoo.BY_POSITION, *zoo.OWN_PAGES]


def lines_by_key(kind: Any, keys: list[Any], sections: Any) -> dict[str, str]:
    """Return the lines of rows by their keys."""
    given = kind() if isfunction(kind) else kind
    sections.register("section", given)
    with surroundings(SITE):
        reader = reader_of(registry.get("section"))
        found = dict(reader.lines_by_key(keys, Tally("section")))
    sections.unregister("section")
    return found


@pytest.mark.parametrize("kind", KINDS, ids=zoo.name_of)
def test_every_kind_of_source_gives_each_of_its_rows(kind, sections, settings):
    """Or nothing, where its rows have no keys; never other rows."""
    settings.ROOT_URLCONF = "tests.support.urls"
    attribute = getattr(kind, "key", "pk")
    keys = [getattr(product, attribute) for product in make_products(7)]
    found = lines_by_key(kind, keys[:-1], sections)
    assert set(found) == (set(map(str, keys[:-1])) if kind in BY_KEY else set())
    alone = [lines_by_key(kind, [key], sections) for key in keys[:-1]]
    assert {key: lines for one in alone for key, lines in one.items()} == found
    assert all("<loc>" in lines for lines in found.values())


def test_keys_that_are_uuids_are_given_as_text(sections):
    """As they are kept, whatever the database makes of them."""
    shop = Shop.objects.create(name="one")
    source = type("Shops", (ModelSource,), {"model": Shop, "location": Value("/shop/")})
    [(key, _)] = lines_by_key(source, [str(shop.pk)], sections).items()
    assert key == str(shop.pk)
