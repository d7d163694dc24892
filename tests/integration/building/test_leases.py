"""Leases: kept by who is at work, however long one page takes."""

from __future__ import annotations

import time
from types import SimpleNamespace
from typing import Any

import pytest
from django.db.models.functions import Now

from django_sitemaps_plus.conf import get_settings
from django_sitemaps_plus.models import Page, Publication, State, claims
from django_sitemaps_plus.notifications import url_changes
from django_sitemaps_plus.signals import urls_changed
from django_sitemaps_plus.sources.lines import CHUNK_ROWS
from tests.support.builds import build_and_relay
from tests.support.shop import limited, make_products
from tests.support.testapp.models import Product
from tests.support.told import hearing

from .overtaking import end_leases, rename

pytestmark = pytest.mark.database


@pytest.fixture
def pass_lease(monkeypatch: Any) -> Any:
    """Return what lets a lease go by, for the database and for this process."""
    clock = SimpleNamespace(passed=0.0)
    clock.monotonic = lambda: time.monotonic() + clock.passed
    monkeypatch.setattr(claims, "time", clock)

    def pass_lease() -> None:
        clock.passed += get_settings().lease_seconds
        end_leases()

    return pass_lease


@pytest.fixture
def slow(pass_lease: Any) -> Any:
    """Return a source whose rows may take long, and what it found in the end."""

    def slow(limit: int) -> Any:
        rows = SimpleNamespace(is_slow=False, lost=[])

        def location(source: Any, product: Product) -> str:
            number = int(product.slug[-5:])
            if rows.is_slow and number == 0:
                pass_lease()
            if rows.is_slow and number == CHUNK_ROWS:
                limit = Now() - get_settings().lease
                rows.lost.append(Page.objects.filter(claimed_at__lt=limit).exists())
            return f"/{product.slug}"

        rows.source = limited(limit, location=location)
        return rows

    return slow


def test_a_page_that_takes_longer_than_its_lease_stays_claimed(slow, publish):
    """Its rows are read in chunks, and the claim is renewed with them; so in a split.

    Each piece is rendered under the claim of the page that is cut.
    """
    make_products(CHUNK_ROWS + 10)
    rows = slow(800)
    section = publish(rows.source)
    rows.is_slow = True
    section.pages.update(wanted=5)
    publish(rows.source)
    assert rows.lost == [False]
    make_products(500, first=CHUNK_ROWS + 10)
    section.pages.update(wanted=10)
    publish(rows.source)
    assert section.pages.count() == 2
    assert len(rows.lost) > 1
    assert not any(rows.lost)


def test_a_merge_that_takes_longer_than_a_lease_keeps_its_claims(slow, publish):
    made = make_products(2_400)
    rows = slow(1_200)
    section = publish(rows.source)
    gone = [product.pk for product in made[CHUNK_ROWS + 10 :]]
    Product.objects.filter(pk__in=gone[:-1]).delete()
    rows.is_slow = True
    build_and_relay([section.name], full=True, allow_shrink=True)
    assert section.pages.filter(state=State.RETIRED).exists()
    assert rows.lost
    assert not any(rows.lost)


def test_a_publication_that_takes_longer_than_its_lease_stays_claimed(
    publish, pass_lease, monkeypatch
):
    """Nobody else tells of it while its objects are being compared."""
    make_products(20)
    publish(limited(100))
    read, lost = url_changes.read_document, []

    def read_document(name: str) -> bytes:
        limit = Now() - get_settings().lease
        lost.append(Publication.objects.filter(claimed_at__lt=limit).exists())
        pass_lease()
        Publication.objects.update(claimed_at=Now() - 2 * get_settings().lease)
        return read(name)

    monkeypatch.setattr(url_changes, "read_document", read_document)
    with hearing(urls_changed) as heard:
        rename("a")
        build_and_relay(["products"], full=True)
    assert [len(told["updated"] + told["added"]) for told in heard] == [2]
    assert lost == [False, False]
