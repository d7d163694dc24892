"""Lines of single rows: what engines are told of where saves are announced."""

from __future__ import annotations

from inspect import isfunction
from typing import Any

import pytest

from django_sitemaps_plus.core.diff import urls_in
from django_sitemaps_plus.registry import registry
from django_sitemaps_plus.sources import Tally, rendering
from tests.integration.rendered import SITE
from tests.integration.shop import ProductSource, make_products
from tests.integration.sources import contrib_zoo as zoo

pytestmark = pytest.mark.django_db

KINDS = [ProductSource, *zoo.BY_KEY, *zoo.BY_POSITION, *zoo.OWN_PAGES]


def urls_of(kind: Any, keys: list[int], sections: Any) -> list[str]:
    """Return the URLs of rows."""
    given = kind() if isfunction(kind) else kind
    sections.register("section", given)
    with rendering(SITE):
        source = registry.get("section")
        lines = "".join(source.lines_of(keys, SITE, Tally("section")))
    sections.unregister("section")
    return urls_in(lines.encode())


@pytest.mark.parametrize("kind", KINDS, ids=zoo.name_of)
def test_every_kind_of_source_gives_the_urls_of_its_rows(kind, sections, settings):
    """Or nothing, where its rows have no keys; never those of other rows."""
    settings.ROOT_URLCONF = "tests.urls"
    keys = [product.pk for product in make_products(7)]
    some = urls_of(kind, [keys[0], keys[-1]], sections)
    if kind is not ProductSource and kind not in zoo.BY_KEY:
        assert some == []
        return
    assert 0 < len(some) < len(urls_of(kind, keys, sections))
    assert set(some) < set(urls_of(kind, keys, sections))
    assert urls_of(kind, [keys[-1] + 1_000], sections) == []
