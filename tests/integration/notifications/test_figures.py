"""What became of submissions, hour by hour."""

from __future__ import annotations

import pytest

from django_sitemaps_plus.exceptions import RetryLater
from django_sitemaps_plus.models import Figure
from django_sitemaps_plus.notifications.dispatch import notify_engines
from tests.support.faults import fail_queries

from .engines import NamingEngine, urls, want

pytestmark = [pytest.mark.database, pytest.mark.django_db(transaction=True)]


def figures() -> dict[str, float]:
    """Return the figures of the engine by their kind."""
    rows = Figure.objects.filter(site="default", name="naming")
    return dict(rows.values_list("kind", "value"))


@pytest.fixture(autouse=True)
def engine(tell, clock):
    """Have an engine, and four URLs that changed."""
    tell(naming=NamingEngine)
    want(*urls(4))
    clock.forward(seconds=50)


def test_targets_are_counted_by_what_became_of_them(clock):
    """Those that fail count each time."""
    with NamingEngine.failing(RetryLater("busy")):
        notify_engines()
    assert figures() == {"failed": 4}
    clock.forward(seconds=300)
    NamingEngine.bad, NamingEngine.name = urls(1), lambda bad, batch: bad
    notify_engines()
    assert figures() == {"failed": 4, "accepted": 3}


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
    assert figures() == {"accepted": 3}


def test_submissions_that_cannot_be_counted_are_made():
    with fail_queries(lambda sql: Figure._meta.db_table in sql):
        assert notify_engines().sent == 4
    assert sorted(NamingEngine.told()) == urls(4)
