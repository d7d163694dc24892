"""What beat asks for now and then besides refreshes."""

from __future__ import annotations

import pytest

from django_sitemaps_plus import tasks
from tests.integration.maintenance.time import objects, pass_time, pointed
from tests.support.shop import make_products
from tests.support.testapp.models import Product

from .sources import RoomySource

pytestmark = pytest.mark.django_db(transaction=True)

PATH = "/sitemap-products-1.xml"


def test_the_audit_finds_what_a_refresh_does_not(celery, published, settings, client):
    """An update() that leaves the lastmod as it was, say."""
    settings.SITEMAPS_PLUS = {**settings.SITEMAPS_PLUS, "AUDIT_INTERVAL_SECONDS": 0}
    make_products(15)
    published(RoomySource)
    Product.objects.filter(slug="product-00004").update(slug="told-nobody")
    tasks.refresh()
    assert b"told-nobody" not in client.get(PATH).content
    tasks.audit()
    assert b"told-nobody" in client.get(PATH).content


def test_what_no_page_names_is_removed_in_the_end(celery, published):
    """By a prune that comes long after it was replaced."""
    make_products(5)
    published(RoomySource)
    Product.objects.get(slug="product-00000").delete()
    tasks.refresh()
    before = objects()
    tasks.prune()
    assert objects() == before > pointed()
    pass_time()
    tasks.prune()
    assert objects() == pointed()
