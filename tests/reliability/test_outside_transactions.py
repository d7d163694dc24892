"""T23: transactions that users leave open keep nothing waiting, and are not lost."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta

import pytest
from django.db import connection, transaction
from django.db.models.functions import Now

from django_sitemaps_plus.building.build import build
from django_sitemaps_plus.models import Change
from django_sitemaps_plus.publishing.prune import prune
from django_sitemaps_plus.registry import SourceRegistry
from django_sitemaps_plus.sites import get_site
from django_sitemaps_plus.tracking import collecting, known
from django_sitemaps_plus.tracking.locating import delete_changes
from tests.support.builds import pass_grace
from tests.support.testapp.models import Product

from .tools.published import unpublished
from .tools.shop import STEP, PlainSource, add, add_quietly, rename

pytestmark = [
    pytest.mark.database,
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif(
        connection.vendor == "sqlite", reason="it has one transaction that writes"
    ),
]

#: Seconds after which a thread that waits has hung.
HANG = 60

#: Old enough for a change that nothing will read.
DAYS = timedelta(days=3)

NO_WAIT = {
    "mysql": "SET SESSION innodb_lock_wait_timeout = 1",
    "postgresql": "SET lock_timeout = '1s'",
}

ISOLATION = {
    "mysql": "SET SESSION TRANSACTION ISOLATION LEVEL ",
    "postgresql": "SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL ",
}


@pytest.fixture(autouse=True, params=["READ COMMITTED", "REPEATABLE READ"])
def isolation(request: pytest.FixtureRequest) -> Iterator[str]:
    """Let the test fail where it waits for a lock, at each level of isolation."""
    level: str = request.param
    hurry(level)
    yield level
    connection.close()


@pytest.fixture
def products(sections: SourceRegistry) -> None:
    add_quietly(range(STEP, 41 * STEP, STEP))  # MariaDB has no key 0
    sections.register("products", PlainSource)
    build()


def hurry(level: str) -> None:
    """Let this connection wait for no lock."""
    with connection.cursor() as cursor:
        cursor.execute(NO_WAIT[connection.vendor])
        cursor.execute(ISOLATION[connection.vendor] + level)


@contextmanager
def left_open(work: Callable[[], object]) -> Iterator[None]:
    """Do something in another transaction, which commits after the ``with`` block."""
    is_done, may_end = threading.Event(), threading.Event()

    def run() -> None:
        try:
            with transaction.atomic():
                work()
                is_done.set()
                assert may_end.wait(HANG)
        finally:
            connection.close()

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    try:
        assert is_done.wait(HANG)
        yield
    finally:
        may_end.set()
        thread.join(HANG)
        assert not thread.is_alive()


@pytest.mark.parametrize("count", [1, 2, 30])
def test_a_build_waits_for_no_change_of_others(products, count):
    """It takes what is committed; the rest is in the set by the next build."""
    rename([STEP * number for number in range(1, 1 + count)], "committed")
    with left_open(lambda: rename([31 * STEP, 39 * STEP], "later")):
        assert build().problems == []
        assert Change.objects.count() == 0
        assert unpublished() == []
    build()
    assert unpublished() == []


@pytest.mark.parametrize("others", [0, 20_000])
def test_a_build_from_a_replica_waits_for_no_change_of_others(products, others):
    """It notes which it has seen; the table is scanned, or found by an index."""
    other = Change(section="other", kind="key", low="1")
    Change.objects.bulk_create([other] * others, batch_size=500)
    rename([STEP], "committed")
    changes = Change.objects.filter(section="products")
    with left_open(lambda: rename([31 * STEP], "later")):
        assert collecting._replicated(changes) == []  # they have not waited yet
        assert changes.exclude(seen_at=None).count() == 1


@pytest.mark.parametrize("count", [2, 30])
def test_a_prune_waits_for_no_change_of_others(products, count):
    """It removes those of a section that is gone."""
    gone = Change(section="gone", kind="key", low="1", at=Now() - DAYS)
    Change.objects.bulk_create([gone] * count)
    with left_open(lambda: rename([STEP], "later")):
        prune(get_site())
        assert Change.objects.count() == 0


def test_a_transaction_across_the_first_build(sections):
    """It records no change, since there is no plan; the second build publishes it."""
    known.forget()
    add_quietly(range(STEP, 41 * STEP, STEP))
    sections.register("products", PlainSource)
    with left_open(lambda: rename([STEP, 39 * STEP], "later")):
        build()
    assert Change.objects.count() == 0
    pass_grace()
    build()
    assert unpublished() == []


def test_saves_wait_for_no_change_that_is_deleted(products, isolation):
    """A build deletes changes in a transaction; users save meanwhile."""
    rename([STEP * number for number in range(1, 31)], "committed")
    changes = Change.objects.order_by("pk")[:29]
    saved: list[bool] = []

    def save() -> None:
        hurry(isolation)
        add([STEP + 1], "meanwhile")
        saved.append(True)

    with transaction.atomic():
        delete_changes(changes)
        with left_open(save):
            pass
    assert saved == [True]
    assert Change.objects.count() == 2  # one of each
    assert Product.objects.filter(slug__startswith="meanwhile").exists()
