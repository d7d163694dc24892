"""T8b: an engine away for two days is asked seldom, and then told everything."""

import random
from collections import Counter
from datetime import timedelta
from urllib.parse import parse_qs, urlsplit

import pytest
from django.utils import timezone

from django_sitemaps_plus.models import Delivery, EngineHost
from django_sitemaps_plus.notifications import backoff
from django_sitemaps_plus.notifications.dispatch import notify_engines
from django_sitemaps_plus.notifications.outbox import want_urls
from tests.support.servers.engine import Heard, LocalEngine
from tests.support.servers.engine_rules import BAIDU_TOKEN

from .tools.shop import IS_SOAK, SEEDS, some_seed
from .tools.under_fire import tell_indexnow

pytestmark = pytest.mark.django_db(transaction=True)

#: URLs that wait.
URLS = 20_000 if IS_SOAK else 2_000

#: Hosts of one site, as after it moved.
HOSTS = ["example.com", "www.example.com", "old.example.com"]

OUTAGE = timedelta(hours=48)

#: Time between two sweeps.
SWEEP = timedelta(minutes=45)

#: What an engine is left alone for at most, and a fifth of it by chance.
MAX_PAUSE = timedelta(hours=1)

#: Requests that an engine gets in that time about a host, at most.
MAX_REQUESTS = 60


class Outage:
    """Days in which an engine is away, in the time of a test.

    Attributes:
        pauses: seconds for which a host was left alone.
    """

    def __init__(self, engine: LocalEngine, monkeypatch: pytest.MonkeyPatch) -> None:
        self.engine = engine
        self.pauses: set[float] = set()
        self._began, self._real = timezone.now(), timezone.now
        self._passed = timedelta()
        monkeypatch.setattr(timezone, "now", lambda: self._real() + self._passed)

    def sweep(self, urls: list[str], seed: int) -> list[Heard]:
        """Be swept or woken, while changes come in; return what the engine heard."""
        random.seed(seed)
        self.engine.faults.misbehave({"503": 1.0})
        want_urls(urls)
        while self._passed < OUTAGE:
            report = notify_engines()
            assert report.next_at is not None
            self.pauses.update(_pauses())
            want_urls(random.sample(urls, 20))
            # Woken when it may be told, or swept before.
            next_one = report.next_at - self._began + timedelta(seconds=1)
            self._passed = min(next_one, self._passed + SWEEP)
        return list(self.engine.journal)

    def end(self, urls: list[str]) -> list[Heard]:
        """Let the engine be well, and told everything; return what it heard."""
        assert Delivery.objects.waiting().count() == len(urls)
        self.engine.journal.clear()
        self.engine.faults.heal()
        self._passed += 2 * backoff.LONGEST_PAUSE
        assert notify_engines().failures == []
        assert self.engine.accepted() == Counter(urls)
        assert not Delivery.objects.waiting().exists()
        return list(self.engine.journal)


@pytest.fixture
def outage(engine, monkeypatch) -> Outage:
    """Have default times, and a clock of the test's own."""
    return Outage(engine, monkeypatch)


@pytest.mark.parametrize("number", SEEDS)
def test_an_outage_of_two_days(number, outage, settings, figures):
    """Sweeps ask again and again, and the engine is asked seldom."""
    tell_indexnow(settings, outage.engine.url)
    urls = [f"https://example.com/{number}/" for number in range(URLS)]
    during = len(outage.sweep(urls, seed := some_seed(number)))
    batches = [len(heard.targets) for heard in outage.end(urls)]
    longest = max(outage.pauses)
    what = {"points": URLS, "requests": during, "longest": round(longest)}
    figures("outage of 48 hours", seed=seed, after=batches, **what)
    assert during <= MAX_REQUESTS
    assert longest <= 1.2 * MAX_PAUSE.total_seconds()
    long = {round(pause) for pause in outage.pauses if pause > 3_600}
    assert len(long) > 10  # no rhythm
    assert batches[0] == 1  # finds out whether it is well; then twice as many each time
    assert len(batches) <= 20


def test_an_outage_of_two_days_for_three_hosts(outage, configure, figures):
    """Each host has pauses of its own, and a request is about one host.

    Of an engine that takes any of them: to IndexNow the others would need a key file.
    """
    options = {"token": BAIDU_TOKEN, "endpoint": f"{outage.engine.url}/baidu/urls"}
    backend = "django_sitemaps_plus.notifications.Baidu"
    engines = {"baidu": {"BACKEND": backend, "OPTIONS": options}}
    configure(ENGINES=engines, NOTIFY=True)
    urls = [f"https://{host}/{number}/" for host in HOSTS for number in range(100)]
    during = Counter(map(_host, outage.sweep(urls, seed := some_seed(1))))
    heard = outage.end(urls)
    what = {"points": len(urls), "requests": max(during.values())}
    figures("outage of 48 hours, three hosts", seed=seed, **what)
    assert sorted(during) == sorted(HOSTS)
    assert max(during.values()) <= MAX_REQUESTS
    for one in heard:
        assert {urlsplit(url).netloc for url in one.body.split()} == {_host(one)}


def _host(heard: Heard) -> str:
    return parse_qs(heard.query)["site"][0]


def _pauses() -> list[float]:
    """Return for how many seconds the recipients still rest."""
    now = timezone.now()
    rows = EngineHost.objects.filter(not_before__gt=now)
    return [(row.not_before - now).total_seconds() for row in rows]
