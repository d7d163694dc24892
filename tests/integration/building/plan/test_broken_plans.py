"""A plan that does not fit its keys any more is replaced, however wrong it is."""

from __future__ import annotations

import pytest

from django_sitemaps_plus.building.build import build
from django_sitemaps_plus.models import Page, Section
from tests.support.shop import limited, make_products, product_urls

pytestmark = pytest.mark.django_db


def test_a_page_that_owns_nearly_all_rows_is_not_split(publish, crawl):
    """Its pieces would lie across the old plan and the new one, for good."""
    products = make_products(40)
    publish(limited(4))
    beyond = str(products[-1].pk + 1_000)
    first, second = Page.objects.of("default", "products").order_by("number")[:2]
    Page.objects.filter(pk=first.pk).update(high=beyond)
    Page.objects.filter(pk=second.pk).update(low=beyond)
    Section.objects.update(fingerprint="of an older deploy")
    assert build().problems == []
    listed = [url for page in crawl().values() for url in page]
    assert sorted(listed) == product_urls(range(40))
