"""Workers that die, are killed by what they build, or stopped by a time limit."""

from __future__ import annotations

import json

import pytest
from django.core.cache import cache
from django.core.management import CommandError, call_command

from django_sitemaps_plus import tasks
from django_sitemaps_plus.models import MAX_DEATHS, Page
from tests.reliability.tools.published import published_urls
from tests.support.servers.programs import wait_until
from tests.support.servers.running import sweeping, working
from tests.support.shop import make_products
from tests.support.testapp.models import Product

from .sources import HangingSource, PoisonSource

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_page_that_kills_its_workers_is_left_alone(any_celery, published, capsys):
    """All others are built, and sitemap_status shows the one that is not."""
    poison = make_products(12)[5]
    Product.objects.filter(pk=poison.pk).update(name="poison")
    published(PoisonSource, builds=False)
    with (
        working(any_celery, PoisonSource, pool="prefork", concurrency=2),
        sweeping(any_celery),
    ):
        wait_until(lambda: Page.objects.parked().exists(), "it is left alone")
        pages = Page.objects.of("default", "products")
        wait_until(lambda: pages.filter(built__gt=0).count() == 11, "all others are")
    (parked,) = Page.objects.parked()
    assert parked.deaths == MAX_DEATHS
    with pytest.raises(CommandError, match=r"Given up for now: 1.*Next attempt: "):
        call_command("sitemap_status", json=True)
    (section,) = json.loads(capsys.readouterr().out)["sections"]
    assert (section["parked"], section["entries"]) == (1, 11)


def test_a_message_whose_worker_died_comes_back(celery, published, configure):
    """At once, to another process of the pool, without any beat or help."""
    configure(MAX_BUILDERS=1)
    poison = make_products(12)[5]
    Product.objects.filter(pk=poison.pk).update(name="poison")
    published(PoisonSource, builds=False)
    tasks.refresh.delay()
    pages = Page.objects.of("default", "products")
    with working(celery, PoisonSource, pool="prefork"):
        # Eight pages are claimed by who died; a message that comes back has the rest.
        wait_until(lambda: pages.filter(built__gt=0).count() >= 4, "others are built")


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
