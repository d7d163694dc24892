"""Many at work on the same pages: claims fence flips, and who loses tries again."""

import itertools
import random
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import pytest
from django.db import OperationalError, connection, transaction
from django.db.models import F, Value
from django.db.models.functions import Concat, Now

from django_sitemaps_plus.building import worker
from django_sitemaps_plus.building.build import build
from django_sitemaps_plus.building.flip import flip
from django_sitemaps_plus.building.store import BuiltPage, Result, build_page
from django_sitemaps_plus.conf import get_settings
from django_sitemaps_plus.models import (
    MAX_ATTEMPTS,
    Page,
    PageQuerySet,
    Publication,
    Section,
    State,
    claims,
)
from django_sitemaps_plus.models.base import TRIES
from django_sitemaps_plus.notifications import url_changes
from django_sitemaps_plus.outages import has_lost
from django_sitemaps_plus.registry import registry
from django_sitemaps_plus.section import open_section
from django_sitemaps_plus.signals import urls_changed
from django_sitemaps_plus.sources import reader_of
from django_sitemaps_plus.sources.lines import CHUNK_ROWS
from django_sitemaps_plus.storage import read_object
from django_sitemaps_plus.tracking.locating import mark_all, mark_keys
from tests.reliability.tools.shop import wrong_totals
from tests.support.builds import build_and_relay, build_fully
from tests.support.shop import limited, make_products
from tests.support.testapp.models import Product
from tests.support.told import hearing

from .overtaking import end_leases, marks, rename, work

pytestmark = pytest.mark.database


#: Seconds after which a thread that waits has hung.
HANG = 240

#: SQLite has one writer at a time.
ROUNDS = 2 if connection.vendor == "sqlite" else 4


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

    def test_a_page_that_was_read_before_another_flip_is_built_anew(
        self, shop, monkeypatch
    ):
        """Its claim holds, and what it knows of the page is no longer so."""
        section = shop(30)
        Product.objects.filter(slug="product-00003").delete()
        pages = section.pages.filter(number=1)
        pages.update(wanted=F("wanted") + 1)
        results = [
            Result(it, build_page(it, open_section(section)))
            for it in Page.objects.claim([section.pk])
        ]
        end_leases()
        pages.update(wanted=F("wanted") + 1)
        fresh, read = PageQuerySet.fresh, []

        def late(self: Any, *args: Any, **options: Any) -> Any:
            found = fresh(self, *args, **options)
            if not read:
                read.append(found)
                assert flip(results) == results
            return found

        monkeypatch.setattr(PageQuerySet, "fresh", late)
        work([section.pk])
        assert not section.pages.dirty().exists()
        assert wrong_totals() == []

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


@pytest.mark.django_db(transaction=True)
def test_a_lock_needs_a_transaction():
    """Outside of one it would end with its own statement, and keep nobody back."""
    with pytest.raises(transaction.TransactionManagementError, match="a lock needs"):
        Section.objects.lock([1])


@pytest.fixture
def many_pages(sections: Any) -> Iterator[None]:
    """Publish two sections of sixty pages, whose flips leave publications."""
    make_products(60)
    for name in ("a", "b"):
        sections.register(name, limited(1))
    with hearing(urls_changed):
        build_fully()
        yield


def edit(number: int) -> None:
    """Save rows in any order, and refresh."""
    for product in Product.objects.order_by("?")[:20]:
        product.slug = f"{product.slug.partition('-x')[0]}-x{number}"
        product.save(update_fields=["slug"])
    build()


def mark(number: int) -> None:
    keys = list(Product.objects.values_list("pk", flat=True))
    for section in Section.objects.exclude(name="").order_by("?"):
        space = reader_of(registry.get(section.name)).key_space()
        for _ in range(10):
            random.shuffle(keys)
            mark_all(section, announce=bool(number % 2))
            mark_keys(section, space, keys[:30])
    build(replan=not number)


def build_all(number: int) -> None:
    build_fully()


def failures_of(works: list[Callable[[int], object]]) -> list[str]:
    """Do things at once; return what they raised, in words."""
    failures: list[str] = []

    def run(work: Callable[[int], object]) -> None:
        try:
            for number in range(ROUNDS):
                work(number)
        except Exception as error:  # noqa: BLE001 - whatever it is, it is reported
            failures.append(f"{work.__name__}: {type(error).__name__}: {error}")
        finally:
            connection.close()

    threads = [threading.Thread(target=run, args=[work], daemon=True) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(HANG)
    assert not any(thread.is_alive() for thread in threads)
    return failures


@contextmanager
def losing(times: int) -> Iterator[list[str]]:
    """Make as many flips lose against another transaction; give those that did."""
    lost: list[str] = []

    def wrapper(execute: Any, sql: str, *rest: Any) -> Any:
        if sql.startswith("UPDATE") and "gzip_hash" in sql and len(lost) < times:
            lost.append(sql)
            raise OperationalError("database is locked")
        return execute(sql, *rest)

    with connection.execute_wrapper(wrapper):
        yield lost


@pytest.fixture
def changed(shop: Any) -> None:
    shop(3, limit=1)
    Product.objects.update(name="new", slug=Concat("slug", Value("-x")))


@pytest.mark.django_db(transaction=True)
class TestFlips:
    """A flip that loses is tried again, and in the end left to the next claim."""

    @pytest.mark.parametrize("times", [1, TRIES])
    def test_once_or_often_ends_nothing(self, changed, times):
        """After some tries its pages are claimed once more, each alone."""
        with losing(times) as lost:
            report = build_fully()
        assert (len(lost), report.problems) == (times, [])
        (section,) = report.sections
        assert (section.rendered, section.stored) == (3, 3)
        assert not Page.objects.filter(attempts__gt=0).exists()

    def test_always_parks_them(self, changed):
        """So a build ends, and says that something is left to do."""
        with losing(10_000):
            problem, of_index = build_fully(["products"]).problems
        assert problem == "products: 3 pages are still to be built; see sitemap_status"
        assert "sitemap.xml is not built" in of_index
        parked = Page.objects.parked().filter(attempts=MAX_ATTEMPTS)
        assert parked.count() == 4  # the index too
        assert build_fully().sections[0].stored == 3
        assert not Page.objects.dirty().exists()

    def test_in_a_transaction_of_the_callers_nothing_is_tried_again(self, changed):
        section = Section.objects.get(name="products")
        with transaction.atomic(), losing(1) as lost:
            with pytest.raises(OperationalError):
                section.pages.all().update_locked([section.pk], gzip_hash="")
            transaction.set_rollback(True)
        assert len(lost) == 1


@pytest.mark.parametrize(
    ("words", "sqlstate", "expected"),
    [
        (("deadlock detected",), "40P01", True),
        (("could not serialize access",), "40001", True),
        ((1213, "Deadlock found when trying to get lock"), None, True),
        ((1205, "Lock wait timeout exceeded"), None, True),
        ((1020, "Record has changed since last read"), None, True),
        (("database is locked",), None, True),
        (("server closed the connection unexpectedly",), None, False),
        ((2006, "Server has gone away"), None, False),
        (("no such column: products.extra",), None, False),
        ((), None, False),
    ],
)
def test_what_counts_as_lost(words, sqlstate, expected):
    """Only what may be better the next time."""
    error = OperationalError(*words)
    error.__cause__ = cause = Exception(*words)
    cause.sqlstate = sqlstate  # as PostgreSQL's have
    assert has_lost(error) is expected


@pytest.mark.django_db(transaction=True)
def test_marks_builds_and_edits_at_once(many_pages, crawl):
    """Whoever waits for whom, all get through, and the end is the table."""
    assert failures_of([build_all, build_all, edit, mark, mark]) == []
    assert build_fully().problems == []
    for page in Page.objects.exclude(state="retired"):
        assert (page.built, page.token) == (page.wanted, "")
        read_object(page.object, page.gzip_hash)
    slugs = Product.objects.values_list("slug", flat=True)
    listed = [url.split("/")[-2] for urls in crawl().values() for url in urls]
    assert sorted(listed) == sorted([*slugs, *slugs])
