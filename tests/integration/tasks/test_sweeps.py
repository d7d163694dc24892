"""What beat asks for now and then besides refreshes."""

from __future__ import annotations

import pytest

from django_sitemaps_plus import tasks
from tests.integration.maintenance.time import objects, pass_time, pointed
from tests.support.shop import make_products
from tests.support.testapp.models import Product

from .sources import RoomySource

pytestmark = pytest.mark.django_db(transaction=True)


def test_an_audit_and_a_prune(celery, published, settings, client):
    """An update() that leaves the lastmod is found; what it replaces goes in time."""
    settings.SITEMAPS_PLUS = {**settings.SITEMAPS_PLUS, "AUDIT_INTERVAL_SECONDS": 0}
    make_products(15)
    published(RoomySource)
    Product.objects.filter(slug="product-00004").update(slug="told-nobody")
    tasks.refresh()
    assert b"told-nobody" not in client.get("/sitemap-products-1.xml").content
    tasks.audit()
    assert b"told-nobody" in client.get("/sitemap-products-1.xml").content
    before = objects()
    tasks.prune()
    assert objects() == before > pointed()
    pass_time()
    tasks.prune()
    assert objects() == pointed()
