"""Workers that die, or are killed by what they build."""

from __future__ import annotations

import json

import pytest
from django.core.management import CommandError, call_command

from django_sitemaps_plus import tasks
from django_sitemaps_plus.models import MAX_ATTEMPTS, Page
from tests.support.servers.programs import wait_until
from tests.support.servers.running import sweeping, working
from tests.support.shop import make_products
from tests.support.testapp.models import Product

from .sources import PoisonSource

pytestmark = pytest.mark.django_db(transaction=True)

LEASE_SECONDS = 2


def test_a_page_that_kills_its_worker_is_parked(any_celery, published, capsys):
    """All others are built, and sitemap_status shows the one that is not."""
    poison = make_products(12)[5]
    Product.objects.filter(pk=poison.pk).update(name="poison")
    published(PoisonSource, builds=False)
    with (
        working(any_celery, PoisonSource, pool="prefork", concurrency=2),
        sweeping(any_celery),
    ):
        wait_until(lambda: Page.objects.parked().exists(), "it is parked")
        pages = Page.objects.of("default", "products")
        wait_until(lambda: pages.filter(built__gt=0).count() == 11, "all others are")
    (parked,) = Page.objects.parked()
    assert parked.attempts == MAX_ATTEMPTS
    with pytest.raises(CommandError, match="1 pages are parked"):
        call_command("sitemap_status", json=True)
    (section,) = json.loads(capsys.readouterr().out)
    assert (section["parked"], section["entries"]) == (1, 11)


def test_a_message_whose_worker_died_comes_back(celery, published, settings):
    """At once, to another process of the pool, without any beat or help."""
    settings.SITEMAPS_PLUS = {**settings.SITEMAPS_PLUS, "MAX_BUILDERS": 1}
    poison = make_products(12)[5]
    Product.objects.filter(pk=poison.pk).update(name="poison")
    published(PoisonSource, builds=False)
    tasks.refresh.delay()
    pages = Page.objects.of("default", "products")
    with working(celery, PoisonSource, pool="prefork"):
        # Eight pages are claimed by who died; a message that comes back has the rest.
        wait_until(lambda: pages.filter(built__gt=0).count() >= 4, "others are built")
