"""Workers whose tasks have time limits, as many projects give to all of theirs."""

from __future__ import annotations

import pytest
from django.core.cache import cache

from django_sitemaps_plus.models import Page
from tests.reliability.tools.published import published_urls
from tests.support.servers.programs import wait_until
from tests.support.servers.running import sweeping, working
from tests.support.shop import make_products
from tests.support.testapp.models import Product

from .sources import HangingSource

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_soft_limit_loses_no_row(celery, published):
    """The row at which it comes is not bad; its page is built by the next task."""
    slow = make_products(4)[2]
    Product.objects.filter(pk=slow.pk).update(name="slow")
    cache.delete("hung")
    published(HangingSource, builds=False)
    limited = {"pool": "prefork", "CELERY_TASK_SOFT_TIME_LIMIT": 1}
    with working(celery, HangingSource, **limited) as (worker,), sweeping(celery):
        pages = Page.objects.of("default", "products")
        wait_until(lambda: pages.filter(built__gt=0).count() == 4, "all are built")
        assert "SoftTimeLimitExceeded" in worker.printed()
    assert len(published_urls()) == 4
    assert not pages.exclude(error="").exists(), "nobody is to blame"
