"""T8b: an engine away for two days is asked seldom, and then told everything."""

from __future__ import annotations

import random
from collections import Counter
from datetime import timedelta
from urllib.parse import parse_qs, urlsplit

import pytest
from django.utils import timezone

from django_sitemaps_plus.conf import get_site
from django_sitemaps_plus.models import Delivery, EngineHost
from django_sitemaps_plus.notifications import backoff
from django_sitemaps_plus.notifications.dispatch import notify_engines
from django_sitemaps_plus.notifications.outbox import want_urls
from tests.support.configuring import configure
from tests.support.servers.engine import Heard
from tests.support.servers.engine_rules import BAIDU_TOKEN

from .tools.shop import IS_SOAK, SEEDS, some_seed
from .tools.under_fire import tell_indexnow

pytestmark = [pytest.mark.database, pytest.mark.django_db(transaction=True)]

#: URLs that wait.
URLS = 20_000 if IS_SOAK else 2_000

#: Hosts of one site, as after it moved.
HOSTS = ["example.com", "www.example.com", "old.example.com"]

OUTAGE = timedelta(hours=48)

#: Time between two sweeps.
SWEEP = timedelta(minutes=45)

#: Requests that an engine gets in that time about a host, at most.
MAX_REQUESTS = 60


@pytest.mark.parametrize("number", SEEDS)
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
        report = notify_engines()
        assert report.next_at is not None
        pauses.update(_pauses())
        want_urls(get_site(), chance.sample(urls, 20))
        # Woken when it may be told, or swept before.
        passed = min(report.next_at - began + timedelta(seconds=1), passed + SWEEP)
    during = len(engine.journal)
    waiting = Delivery.objects.waiting().count()
    engine.journal.clear()
    engine.faults.heal()
    passed += 2 * backoff.LONGEST_PAUSE
    report = notify_engines()
    batches = [len(heard.targets) for heard in engine.journal]
    figures(
        "outage of 48 hours",
        seed=seed,
        points=URLS,
        requests=during,
        lost=len(set(urls) - set(engine.accepted())),
        longest=round(max(pauses)),
        after=batches,
    )
    assert during <= MAX_REQUESTS
    assert max(pauses) <= 1.2 * backoff.LONGEST_PAUSE.total_seconds()
    assert len({round(pause) for pause in pauses if pause > 3_600}) > 10  # no rhythm
    assert waiting == URLS
    assert report.failures == []
    assert engine.accepted() == Counter(urls)
    assert batches[0] == 1  # finds out whether it is well; then twice as many each time
    assert len(batches) <= 20
    assert not Delivery.objects.waiting().exists()


def test_an_outage_of_two_days_for_three_hosts(engine, settings, monkeypatch, figures):
    """Each host has pauses of its own, and a request is about one host.

    Of an engine that takes any of them: to IndexNow the others would need a key file.
    """
    options = {"token": BAIDU_TOKEN, "endpoint": f"{engine.url}/baidu/urls"}
    backend = "django_sitemaps_plus.notifications.Baidu"
    configure(
        settings,
        ENGINES={"baidu": {"BACKEND": backend, "OPTIONS": options}},
        NOTIFY=True,
    )
    random.seed(seed := some_seed(1))
    began, real = timezone.now(), timezone.now
    passed = timedelta()
    monkeypatch.setattr(timezone, "now", lambda: real() + passed)
    engine.faults.misbehave({"503": 1.0})
    urls = [f"https://{host}/{number}/" for host in HOSTS for number in range(100)]
    want_urls(get_site(), urls)
    while passed < OUTAGE:
        report = notify_engines()
        assert report.next_at is not None
        passed = min(report.next_at - began + timedelta(seconds=1), passed + SWEEP)
    during = Counter(map(_host, engine.journal))
    engine.faults.heal()
    passed += 2 * backoff.LONGEST_PAUSE
    report = notify_engines()
    figures(
        "outage of 48 hours, three hosts",
        seed=seed,
        points=len(urls),
        requests=max(during.values()),
        lost=len(set(urls) - set(engine.accepted())),
    )
    assert sorted(during) == sorted(HOSTS)
    assert max(during.values()) <= MAX_REQUESTS
    assert report.failures == []
    assert engine.accepted() == Counter(urls)
    for heard in engine.journal:
        assert {urlsplit(url).netloc for url in heard.body.split()} == {_host(heard)}
    assert not Delivery.objects.waiting().exists()


def _host(heard: Heard) -> str:
    """Return the host that a request says it is about."""
    return parse_qs(heard.query)["site"][0]


def _pauses() -> list[float]:
    """Return for how many seconds the recipients still rest."""
    now = timezone.now()
    rows = EngineHost.objects.filter(not_before__gt=now)
    return [(row.not_before - now).total_seconds() for row in rows]
