"""One process at a time tells an engine of a host, whoever sleeps or is killed."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from django_sitemaps_plus.exceptions import RetryLater
from django_sitemaps_plus.models import Delivery, EngineHost
from django_sitemaps_plus.notifications.dispatch import notify_engines

from .engines import ActingEngine, OtherEngine, urls, want

pytestmark = pytest.mark.database

LEASE = 60.0


def died():
    """Leave an engine as a process that was killed leaves it."""
    EngineHost.objects.update(token="")
    assert EngineHost.objects.claim("default", "acting", "example.com")


def age_lease():
    """Let the lease of who tells an engine be over."""
    for row in EngineHost.objects.exclude(claimed_at=None):
        row.claimed_at -= timedelta(seconds=2 * LEASE)
        row.save()


def _die():
    raise KeyboardInterrupt


def test_only_one_tells_an_engine_of_a_host(tell):
    """The other leaves it alone, and tells whom it can."""
    tell(acting=ActingEngine, other=OtherEngine)
    reports = []
    ActingEngine.act = lambda: reports.append(notify_engines())
    want(*urls(6))
    assert notify_engines().requests == 3
    assert sorted(ActingEngine.told()) == urls(6)
    assert sorted(OtherEngine.told()) == urls(6)
    assert reports[0].sent == 6
    assert reports[0].next_at > timezone.now() + timedelta(seconds=LEASE / 2)


def test_one_that_died_is_replaced_after_a_lease(tell):
    """What it had sent without noting it is sent again."""
    tell(acting=ActingEngine)
    want(*urls(2))
    died()
    assert notify_engines().requests == 0
    age_lease()
    assert notify_engines().sent == 2


def test_a_call_does_not_wait_for_another(tell, impatient):
    tell(acting=ActingEngine)
    want(*urls(2))
    died()
    assert notify_engines(seconds=60, wait=5).sent == 0


def test_killed_between_request_and_note_tells_again(tell):
    tell(acting=ActingEngine)
    ActingEngine.act = _die
    want(*urls(2))
    with pytest.raises(KeyboardInterrupt):
        notify_engines()
    assert notify_engines().sent == 2
    assert sorted(ActingEngine.told()) == sorted(urls(2) * 2)


def test_a_sleeper_notes_nothing(tell):
    """Another has claimed a newer version meanwhile, and did not get to tell it."""
    tell(acting=ActingEngine)

    def overtaken():
        age_lease()
        want(*urls(2))
        with ActingEngine.failing(RetryLater("down")):
            notify_engines()

    ActingEngine.act = overtaken
    want(*urls(2))
    notify_engines()
    assert Delivery.objects.waiting().count() == 2


def test_a_sleeper_tells_nothing_more(tell):
    tell(acting=ActingEngine)

    def overtaken():
        age_lease()
        assert EngineHost.objects.claim("default", "acting", "example.com")

    ActingEngine.act = overtaken
    want(*urls(6))
    assert notify_engines().requests == 1


def test_a_sleeper_does_not_let_others_in(tell):
    tell(acting=ActingEngine)
    ActingEngine.act = died
    want(*urls(2))
    notify_engines()
    assert EngineHost.objects.exclude(token="").exists()
