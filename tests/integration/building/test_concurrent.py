"""Builds at once: a flip needs its claim, so an older result never replaces a newer."""

from __future__ import annotations

import itertools
import threading
from typing import Any

import pytest
from django.db import connection
from django.db.models import F
from django.db.models.functions import Now

from django_sitemaps_plus.building import worker
from django_sitemaps_plus.building.build import build
from django_sitemaps_plus.building.store import BuiltPage
from django_sitemaps_plus.conf import get_settings
from django_sitemaps_plus.models import Page, PageQuerySet, Section
from tests.integration.building.overtaking import (
    marks,
    rename,
    work,
)
from tests.support.builds import build_fully
from tests.support.shop import limited, make_products
from tests.support.testapp.models import Product

pytestmark = pytest.mark.database

#: Seconds after which a thread that waits has hung.
HANG = 60


@pytest.fixture
def published(sections: Any) -> None:
    make_products(25)
    sections.register("products", limited(10))
    build_fully()
    rename("a")


def test_pages_that_nobody_took_over_are_flipped(published, client, monkeypatch):
    """Each page is fenced by itself; a batch is not lost for one of them."""
    real, calls = worker.build_page, itertools.count(1)

    def build_page(*arguments: Any) -> BuiltPage:
        built = real(*arguments)
        if next(calls) == 3:
            take_over_one()
        return built

    def take_over_one() -> None:
        taken = Page.objects.filter(number=2)
        taken.update(claimed_at=Now() - 2 * get_settings().lease)
        changed = Product.objects.filter(slug="product-00010-a")
        changed.update(slug="product-00010-b")
        with monkeypatch.context() as patch:
            # It would wait for the first builder, which waits for it.
            patch.setattr(PageQuerySet, "is_being_built", lambda *arguments: False)
            done = work([Section.objects.get(name="products").pk])
        assert done["products"].stored == 1

    monkeypatch.setattr(worker, "build_page", build_page)
    assert build_fully().sections[0].rendered == 2
    assert marks(client) == ["a", "b", "a"]


@pytest.mark.django_db(transaction=True)
def test_one_waits_for_the_pages_of_the_other(published, client, monkeypatch):
    """A build returns when what it was asked for is published, by whomever."""
    asleep, polled = threading.Event(), threading.Event()
    real, reports = worker.flip, []

    def slow(results: Any) -> Any:
        asleep.set()
        assert polled.wait(HANG)
        return real(results)

    def is_being_built(*arguments: Any) -> bool:
        found = busy(*arguments)
        if found:
            polled.set()
        return found

    busy = PageQuerySet.is_being_built
    monkeypatch.setattr(worker, "flip", slow)
    monkeypatch.setattr(PageQuerySet, "is_being_built", is_being_built)
    Page.objects.filter(section__name="products").update(wanted=F("wanted") + 1)
    ids = [Section.objects.get(name="products").pk]

    def run() -> None:
        try:
            reports.append(work(ids))
        finally:
            connection.close()

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    assert asleep.wait(HANG)
    assert work(ids) == {}
    assert marks(client) == ["a", "a", "a"]
    thread.join(HANG)
    assert [counts["products"].rendered for counts in reports] == [3]
    assert build().problems == []


def test_a_split_that_came_too_late_gives_up_its_claim(sections, monkeypatch):
    """Its page is taken anew at once, and nobody waits for the end of its lease."""
    made = make_products(10)
    sections.register("products", limited(10))
    build_fully()
    make_products(20, first=len(made))
    real, tokens = worker.split, []

    def split(page: Page, *others: Any) -> Any:
        tokens.append(page.token)
        if len(tokens) > 1:
            assert Page.objects.get(pk=page.pk).token == page.token
            return real(page, *others)
        # Another builder has split it between the read and the claim of this one.
        Page.objects.filter(pk=page.pk).update(high=made[4].pk)
        pieces = real(page, *others)
        Page.objects.filter(pk=page.pk).update(high=page.high)
        return pieces

    monkeypatch.setattr(worker, "split", split)
    monkeypatch.setattr(worker, "POLL_SECONDS", HANG)
    build_fully()
    assert len(tokens) == 2
    assert not Page.objects.exclude(token="").exists()
