"""What became of submissions, hour by hour, and how long a change took."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from django_sitemaps_plus.exceptions import RetryLater
from django_sitemaps_plus.models import Delivery, Figure
from django_sitemaps_plus.models.figures import bucket_of
from django_sitemaps_plus.notifications.dispatch import notify_engines
from tests.support.faults import fail_queries

from .engines import NamingEngine
from .wanted import urls, want

pytestmark = [pytest.mark.database, pytest.mark.django_db(transaction=True)]


def figures() -> dict[tuple[str, int], float]:
    """Return the figures of the engine, by their kinds and delays."""
    rows = Figure.objects.filter(site="default", name="naming")
    return {(row.kind, row.bucket): row.value for row in rows}


@pytest.fixture(autouse=True)
def engine(tell, clock):
    """Have an engine, three URLs that changed 50 seconds ago and one of yesterday."""
    tell(naming=NamingEngine)
    want(*urls(4))
    clock.forward(seconds=50)
    since = timezone.now() - timedelta(hours=30)
    Delivery.objects.filter(target=urls(4)[3]).update(changed_at=since)


def test_targets_are_counted_by_what_became_of_them(clock):
    """Those that fail count each time; what is accepted, by its delay."""
    with NamingEngine.failing(RetryLater("busy")):
        notify_engines()
    assert figures() == {("failed", 0): 4}
    clock.forward(seconds=300)
    NamingEngine.bad, NamingEngine.name = urls(1), lambda bad, batch: bad
    notify_engines()
    assert figures() == {
        ("failed", 0): 4,
        ("rejected", 0): 1,
        ("accepted", 600): 2,
        ("accepted", 0): 1,
    }


def test_what_was_submitted_counts_when_the_next_request_ends_the_process(monkeypatch):
    """And the error that ended it stays the one that is seen."""
    monkeypatch.setattr(NamingEngine, "max_batch", 3)
    real = NamingEngine.send

    def send(self, batch):
        if len(batch.targets) == 1:
            raise SystemExit("stopped")
        real(self, batch)

    monkeypatch.setattr(NamingEngine, "send", send)
    with pytest.raises(SystemExit, match="stopped"):
        notify_engines()
    assert figures() == {("accepted", 60): 3}


def test_submissions_that_cannot_be_counted_are_made():
    with fail_queries(lambda sql: Figure._meta.db_table in sql):
        assert notify_engines().sent == 4
    assert sorted(NamingEngine.told()) == urls(4)


@pytest.mark.parametrize(
    ("seconds", "bucket"),
    [(-3, 1), (0, 1), (1, 1), (1.5, 2), (60, 60), (86_400, 86_400), (86_401, 0)],
)
def test_a_delay_counts_below_the_next_bound(seconds, bucket):
    assert bucket_of(timedelta(seconds=seconds)) == bucket
