"""Celery's forked processes, and pools of connections."""

from __future__ import annotations

import pytest
from django.db import connection  # noqa: F401 - of the mark

from django_sitemaps_plus import tasks
from django_sitemaps_plus.models import Page
from tests.reliability.tools.published import published_urls
from tests.support.servers.programs import wait_until
from tests.support.servers.running import sweeping, working
from tests.support.servers.workers import pooled
from tests.support.shop import make_products, product_urls

from .sources import ProductSource

pytestmark = [
    pytest.mark.database,
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif("connection.vendor != 'postgresql'", reason="has no pools"),
]

ROWS = 60


def test_a_pool_that_is_open_before_the_fork(celery, published):
    """Celery closes it, and each process opens its own: no page has rows of another."""
    make_products(ROWS)
    published(ProductSource, builds=False)
    options = {"pool": "prefork", "concurrency": 3, "DATABASES": pooled()}
    options["CELERY_IMPORTS"] = ["tests.integration.tasks.early"]
    with working(celery, ProductSource, **options), sweeping(celery):
        tasks.refresh.delay()
        pages = Page.objects.of("default", "products")
        wait_until(lambda: pages.filter(built__gt=0).count() == ROWS, "all are built")
    assert sorted(published_urls()) == product_urls(range(ROWS))
