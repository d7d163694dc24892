"""Many at work on the same pages: nobody is told that a transaction lost."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.db import OperationalError, connection, transaction
from django.db.models import Value
from django.db.models.functions import Concat

from django_sitemaps_plus.building.build import build
from django_sitemaps_plus.models import MAX_ATTEMPTS, Page, Section
from django_sitemaps_plus.models.base import TRIES
from django_sitemaps_plus.outages import has_lost
from django_sitemaps_plus.registry import registry
from django_sitemaps_plus.signals import urls_changed
from django_sitemaps_plus.sources import reader_of
from django_sitemaps_plus.storage import read_object
from django_sitemaps_plus.tracking.locating import mark_all, mark_keys
from tests.support.builds import build_fully
from tests.support.shop import limited, make_products
from tests.support.testapp.models import Product
from tests.support.told import hearing

pytestmark = [pytest.mark.database, pytest.mark.django_db(transaction=True)]

#: Seconds after which a thread that waits has hung.
HANG = 240

ROUNDS = 4


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
    """Publish three pages, then change each."""
    shop(3, limit=1)
    Product.objects.update(name="new", slug=Concat("slug", Value("-x")))


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
