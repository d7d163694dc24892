"""From a commit to the engine that hears of it: what comes after what."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest
from django.db import transaction
from django.test import Client

from django_sitemaps_plus.models import Change, Delivery, Publication
from django_sitemaps_plus.notifications import Batch
from django_sitemaps_plus.notifications.dispatch import notify_engines
from django_sitemaps_plus.testing import RecordingEngine
from tests.support.builds import build_and_relay
from tests.support.shop import limited, make_products, product_urls

pytestmark = pytest.mark.django_db(transaction=True)

NEW = "https://example.com/products/renamed/"
BOTH = sorted([*product_urls([3]), NEW])


def is_served() -> bool:
    """Return whether a crawler finds the new address."""
    return NEW in Client().get("/sitemap-products-1.xml").content.decode()


def states() -> list[int]:
    """Return the state of each delivery."""
    return list(Delivery.objects.values_list("state", flat=True))


class WatchingEngine(RecordingEngine):
    """Notes what there is to see when it is told."""

    seen: Any = None

    def send(self, batch: Batch) -> None:
        """Look, and accept it."""
        type(self).seen = (sorted(batch.targets), is_served(), states())


@pytest.fixture
def product(tell, publish):
    """Publish a section; give a row of it that has another address since."""
    tell(watching=WatchingEngine)
    WatchingEngine.seen = None
    made = make_products(5)
    publish(limited(10))
    notify_engines()
    made[3].slug = "renamed"
    return made[3]


def test_an_engine_hears_of_what_everybody_can_see(product):
    """Commit, publication, outbox, engine; and then it counts as told."""
    with transaction.atomic():
        product.save()
    assert not is_served()
    build_and_relay()
    notify_engines()
    assert WatchingEngine.seen == (BOTH, True, [Delivery.State.WAITING] * 2)
    assert states() == [Delivery.State.SENT] * 2
    assert not Publication.objects.exists()


def test_nothing_follows_what_was_rolled_back(product):
    with suppress(ZeroDivisionError), transaction.atomic():
        product.save()
        assert Change.objects.exists()
        raise ZeroDivisionError
    build_and_relay()
    notify_engines()
    assert WatchingEngine.seen is None
    assert not Delivery.objects.exists()
