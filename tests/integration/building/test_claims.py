"""Claims fence each flip, and are kept by who is at work, however long it takes."""

from __future__ import annotations

import itertools
import threading
import time
from types import SimpleNamespace
from typing import Any

import pytest
from django.db import connection
from django.db.models import F
from django.db.models.functions import Now

from django_sitemaps_plus.building import worker
from django_sitemaps_plus.building.build import build
from django_sitemaps_plus.building.store import BuiltPage
from django_sitemaps_plus.conf import get_settings
from django_sitemaps_plus.models import (
    Page,
    PageQuerySet,
    Publication,
    Section,
    State,
    claims,
)
from django_sitemaps_plus.notifications import url_changes
from django_sitemaps_plus.signals import urls_changed
from django_sitemaps_plus.sources.lines import CHUNK_ROWS
from tests.support.builds import build_and_relay, build_fully
from tests.support.shop import make_products
from tests.support.testapp.models import Product
from tests.support.told import hearing

from .overtaking import end_leases, marks, rename, work

pytestmark = pytest.mark.database

#: Seconds after which a thread that waits has hung.
HANG = 60


class TestTwoBuilders:
    @pytest.fixture
    def renamed(self, products: Any) -> list[int]:
        """Rename a row on each of three pages; return their section."""
        rename("a")
        return [Section.objects.get(name="products").pk]

    def test_pages_that_nobody_took_over_are_flipped(
        self, renamed, client, monkeypatch
    ):
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
                patch.setattr(PageQuerySet, "is_being_built", lambda *args: False)
                done = work(renamed)
            assert done["products"].stored == 1

        monkeypatch.setattr(worker, "build_page", build_page)
        assert build_fully().sections[0].rendered == 2
        assert marks(client) == ["a", "b", "a"]

    @pytest.mark.django_db(transaction=True)
    def test_one_waits_for_the_pages_of_the_other(self, renamed, client, monkeypatch):
        """A build returns when what it was asked for is published, by whomever."""
        asleep, polled = threading.Event(), threading.Event()
        real, busy, reports = worker.flip, PageQuerySet.is_being_built, []

        def slow(results: Any) -> Any:
            asleep.set()
            assert polled.wait(HANG)
            return real(results)

        def is_being_built(*arguments: Any) -> bool:
            found = busy(*arguments)
            if found:
                polled.set()
            return found

        def run() -> None:
            try:
                reports.append(work(renamed))
            finally:
                connection.close()

        monkeypatch.setattr(worker, "flip", slow)
        monkeypatch.setattr(PageQuerySet, "is_being_built", is_being_built)
        Page.objects.filter(section__name="products").update(wanted=F("wanted") + 1)
        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        assert asleep.wait(HANG)
        assert work(renamed) == {}
        assert marks(client) == ["a", "a", "a"]
        thread.join(HANG)
        assert [counts["products"].rendered for counts in reports] == [3]
        assert build().problems == []

    def test_a_split_that_came_too_late_gives_up_its_claim(self, shop, monkeypatch):
        """Its page is taken anew at once, and nobody waits for the end of its lease."""
        shop(10)
        cut = Product.objects.order_by("pk")[4].pk
        make_products(20, first=10)
        real, tokens = worker.split, []

        def split(page: Page, *others: Any) -> Any:
            tokens.append(page.token)
            if len(tokens) > 1:
                assert Page.objects.get(pk=page.pk).token == page.token
                return real(page, *others)
            # Another builder has split it between the read and the claim of this one.
            Page.objects.filter(pk=page.pk).update(high=cut)
            pieces = real(page, *others)
            Page.objects.filter(pk=page.pk).update(high=page.high)
            return pieces

        monkeypatch.setattr(worker, "split", split)
        monkeypatch.setattr(worker, "POLL_SECONDS", HANG)
        build_fully()
        assert len(tokens) == 2
        assert not Page.objects.exclude(token="").exists()


def is_overdue(model: Any) -> bool:
    """Return whether a claim is older than its lease."""
    limit = Now() - get_settings().lease
    return bool(model.objects.filter(claimed_at__lt=limit).exists())


class TestLeases:
    @pytest.fixture
    def pass_lease(self, monkeypatch: Any) -> Any:
        """Return what lets a lease go by, for the database and for this process."""
        clock = SimpleNamespace(passed=0.0)
        clock.monotonic = lambda: time.monotonic() + clock.passed
        monkeypatch.setattr(claims, "time", clock)

        def pass_lease() -> None:
            clock.passed += get_settings().lease_seconds
            end_leases()

        return pass_lease

    @pytest.fixture
    def rows(self, pass_lease: Any) -> Any:
        """Give a location whose rows may take long, and what it found in the end."""
        rows = SimpleNamespace(is_slow=False, lost=[])

        def location(source: Any, product: Product) -> str:
            number = int(product.slug[-5:])
            if rows.is_slow and number == 0:
                pass_lease()
            if rows.is_slow and number == CHUNK_ROWS:
                rows.lost.append(is_overdue(Page))
            return f"/{product.slug}"

        rows.location = location
        return rows

    def test_a_page_that_takes_longer_than_its_lease_stays_claimed(self, rows, shop):
        """Its rows are read in chunks, and the claim is renewed with them.

        So in a split: each piece is rendered under the claim of the page that is cut.
        """
        section = shop(CHUNK_ROWS + 10, limit=800, location=rows.location)
        rows.is_slow = True
        section.pages.update(wanted=5)
        build()
        assert rows.lost == [False]
        make_products(500, first=CHUNK_ROWS + 10)
        section.pages.update(wanted=10)
        build()
        assert section.pages.count() == 2
        assert len(rows.lost) > 1
        assert not any(rows.lost)

    def test_a_merge_that_takes_longer_than_a_lease_keeps_its_claims(self, rows, shop):
        section = shop(2_400, limit=1_200, location=rows.location)
        gone = Product.objects.order_by("pk")[CHUNK_ROWS + 10 : 2_399]
        Product.objects.filter(pk__in=list(gone.values_list("pk", flat=True))).delete()
        rows.is_slow = True
        build(full=True, allow_shrink=True)
        assert section.pages.filter(state=State.RETIRED).exists()
        assert rows.lost
        assert not any(rows.lost)

    def test_a_publication_that_takes_longer_than_its_lease_stays_claimed(
        self, shop, pass_lease, monkeypatch
    ):
        """Nobody else tells of it while its objects are being compared."""
        shop(20, limit=100)
        read, lost = url_changes.read_document, []

        def read_document(name: str) -> bytes:
            lost.append(is_overdue(Publication))
            pass_lease()
            Publication.objects.update(claimed_at=Now() - 2 * get_settings().lease)
            return read(name)

        monkeypatch.setattr(url_changes, "read_document", read_document)
        with hearing(urls_changed) as heard:
            rename("a")
            build_and_relay(full=True)
        assert [len(told["updated"] + told["added"]) for told in heard] == [2]
        assert lost == [False, False]
