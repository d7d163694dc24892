"""From a commit to the engine that hears of it: what comes after what."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest
from django.db import transaction
from django.test import Client

from django_sitemaps_plus.models import Change, Delivery, Publication
from django_sitemaps_plus.models.deliveries import DeliveryQuerySet
from django_sitemaps_plus.notifications import Batch, url_changes
from django_sitemaps_plus.notifications.dispatch import notify_engines
from django_sitemaps_plus.signals import page_built
from django_sitemaps_plus.testing import RecordingEngine
from tests.support.builds import build_and_relay
from tests.support.shop import limited, make_products, product_urls

pytestmark = pytest.mark.django_db(transaction=True)

NEW = "https://example.com/products/renamed/"
BOTH = sorted([*product_urls([3]), NEW])

#: What happened, in order: a word, and what there was to see at that moment.
events: list[tuple[str, Any]] = []


def is_served() -> bool:
    """Return whether a crawler finds the new address."""
    return NEW in Client().get("/sitemap-products-1.xml").content.decode()


def told_so_far() -> dict[str, bool]:
    """Return for each delivery whether it counts as told."""
    rows = Delivery.objects.order_by("target")
    return {row.target: row.state == Delivery.State.SENT for row in rows}


class WatchingEngine(RecordingEngine):
    """Notes what there is to see when it is told."""

    def send(self, batch: Batch) -> None:
        """Look, and accept it."""
        events.append(("told", (sorted(batch.targets), is_served(), told_so_far())))


@pytest.fixture
def product(tell, publish, monkeypatch) -> Iterator[Any]:
    """Publish a section, watch every step from here on, and give a row of it."""
    tell(watching=WatchingEngine)
    made = make_products(5)
    publish(limited(10))
    notify_engines()
    events.clear()

    def built(**signal: Any) -> None:
        events.append(("published", (is_served(), Publication.objects.count())))

    def compare(*documents: Any) -> Any:
        events.append(("compared", is_served()))
        return diff(*documents)

    def want(rows: Any, site: str, engine: str, targets: Any, *at: Any) -> None:
        want_really(rows, site, engine, targets, *at)
        events.append(("queued", (sorted(targets), told_so_far())))

    diff, want_really = url_changes.diff, DeliveryQuerySet.want
    monkeypatch.setattr(url_changes, "diff", compare)
    monkeypatch.setattr(DeliveryQuerySet, "want", want)
    page_built.connect(built)
    made[3].slug = "renamed"
    yield made[3]
    page_built.disconnect(built)
    events.clear()


def test_an_engine_hears_of_what_everybody_can_see(product):
    """Commit, publication, comparison, outbox, engine; and then it counts as told."""
    with transaction.atomic():
        product.save()
        transaction.on_commit(lambda: events.append(("committed", is_served())))
        events.append(("saved", Delivery.objects.count()))
    build_and_relay()
    notify_engines()
    not_yet = dict.fromkeys(BOTH, False)
    assert events == [
        ("saved", 0),
        ("committed", False),
        ("published", (True, 1)),
        ("compared", True),
        ("queued", (BOTH, not_yet)),
        ("told", (BOTH, True, not_yet)),
    ]
    assert told_so_far() == dict.fromkeys(BOTH, True)
    assert not Publication.objects.exists()


def test_nothing_follows_what_was_rolled_back(product):
    """Neither now nor later."""
    with suppress(ZeroDivisionError), transaction.atomic():
        product.save()
        assert Change.objects.exists()
        raise ZeroDivisionError
    build_and_relay()
    notify_engines()
    assert events == []
    assert not Delivery.objects.exists()
