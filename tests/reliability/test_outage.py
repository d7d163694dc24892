"""T8b: an engine away for two days is asked seldom, and then told everything."""

from __future__ import annotations

import random
from collections import Counter
from datetime import timedelta

import pytest
from django.utils import timezone

from django_sitemaps_plus.conf import get_site
from django_sitemaps_plus.models import Delivery
from django_sitemaps_plus.notifications import recipients
from django_sitemaps_plus.notifications.queue import want_urls
from django_sitemaps_plus.notifications.telling import tell_engines

from .shop import some_seed
from .under_fire import tell_indexnow

pytestmark = pytest.mark.django_db(transaction=True)

#: URLs that wait.
URLS = 20_000

OUTAGE = timedelta(hours=48)

#: Time between two sweeps.
SWEEP = timedelta(minutes=45)

#: Requests that an engine gets in that time, at most.
MAX_REQUESTS = 60


@pytest.mark.parametrize("number", [1, 0])
def test_an_outage_of_two_days(number, engine, settings, monkeypatch, figures):
    """With default times; changes come in meanwhile, and sweeps ask again and again."""
    tell_indexnow(settings, engine.url)
    chance = random.Random(seed := some_seed(number))
    random.seed(seed)
    began, real = timezone.now(), timezone.now
    passed = timedelta()
    monkeypatch.setattr(timezone, "now", lambda: real() + passed)
    engine.faults.misbehave({"503": 1.0})
    urls = [f"https://example.com/{number}/" for number in range(URLS)]
    want_urls(get_site(), urls)
    pauses: set[float] = set()
    while passed < OUTAGE:
        report = tell_engines()
        assert report.next_at is not None
        pauses.update(_pauses())
        want_urls(get_site(), chance.sample(urls, 20))
        # Woken when it may be told, or swept before.
        passed = min(report.next_at - began + timedelta(seconds=1), passed + SWEEP)
    during = len(engine.journal)
    waiting = Delivery.objects.waiting().count()
    engine.journal.clear()
    engine.faults.heal()
    passed += 2 * recipients.LONGEST_PAUSE
    report = tell_engines()
    batches = [len(heard.targets) for heard in engine.journal]
    figures(
        "outage of 48 hours",
        seed=seed,
        points=URLS,
        kills=0,
        requests=during,
        lost=len(set(urls) - set(engine.accepted())),
        longest=round(max(pauses)),
        after=batches,
    )
    assert during <= MAX_REQUESTS
    assert max(pauses) <= 1.2 * recipients.LONGEST_PAUSE.total_seconds()
    assert len({round(pause) for pause in pauses if pause > 3_600}) > 10  # no rhythm
    assert waiting == URLS
    assert report.failures == []
    assert engine.accepted() == Counter(urls)
    assert batches[0] == 1  # finds out whether it is well; then twice as many each time
    assert len(batches) <= 20
    assert not Delivery.objects.waiting().exists()


def _pauses() -> list[float]:
    """Return for how many seconds the recipients still rest."""
    now = timezone.now()
    rows = recipients.Recipient.objects.filter(not_before__gt=now)
    return [(row.not_before - now).total_seconds() for row in rows]
