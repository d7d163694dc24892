"""However much is to be told, it is queued in small transactions, each by itself."""

from __future__ import annotations

import pytest
from django.db import DatabaseError
from django.utils import timezone

from django_sitemaps_plus.building.build import build
from django_sitemaps_plus.models import Delivery, Publication, Section
from django_sitemaps_plus.models.deliveries import DeliveryQuerySet
from django_sitemaps_plus.notifications import outbox, url_changes
from django_sitemaps_plus.notifications.dispatch import notify_engines
from tests.support.shop import limited, make_products

from .engines import urls

pytestmark = [pytest.mark.database, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def second_fails(monkeypatch):
    """Have the database fail with the second part that is queued, and once."""
    calls, want = [], DeliveryQuerySet.want

    def failing(*args, **options):
        calls.append(args)
        if len(calls) == 2:
            raise DatabaseError("disk full")
        want(*args, **options)

    monkeypatch.setattr(DeliveryQuerySet, "want", failing)


def test_what_a_publication_changed(recording, publish, second_fails, monkeypatch):
    """What was queued before a failure stays, and all of it is heard once more."""
    monkeypatch.setattr(url_changes, "BATCH_URLS", 2)
    products = make_products(3)
    publish(limited(10))
    for product in products:
        product.slug = f"renamed-{product.pk}"
        product.save()
    build()
    [words] = url_changes.relay()
    assert "disk full" in words
    assert Delivery.objects.count() == 2
    assert Publication.objects.count() == 1
    Publication.objects.update(claimed_at=None)
    assert notify_engines().sent == 6
    assert not Publication.objects.exists()


def test_urls_that_are_chosen(recording, second_fails, monkeypatch):
    """As a command does it for a whole site."""
    monkeypatch.setattr(outbox, "BATCH_ROWS", 2)
    with pytest.raises(DatabaseError, match="disk full"):
        outbox.want_urls(urls(5))
    assert Delivery.objects.count() == 2


def test_each_has_a_thousand_rows_at_most(recording):
    """So that none keeps a database waiting: of URLs, and of keys that were saved."""
    section = Section.objects.create(site="default", name="products")
    Publication.objects.note_saves(section, map(str, range(2_100)), timezone.now())
    noted = Publication.objects.order_by("pk").values_list("keys", flat=True)
    assert [len(part) for part in noted] == [1_000, 1_000, 100]
    assert url_changes.BATCH_URLS == outbox.BATCH_ROWS == 1_000
