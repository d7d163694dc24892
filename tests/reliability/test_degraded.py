"""T13: whatever views depend on fails, crawlers are answered, and soon."""

import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

import pytest
from django.core.cache import cache
from django.db import OperationalError
from django.test import Client

from django_sitemaps_plus import cache as cached
from django_sitemaps_plus.building.build import build
from django_sitemaps_plus.core import limits
from django_sitemaps_plus.models import Page
from django_sitemaps_plus.serving import robots_txt
from tests.support import key_files
from tests.support.faults import fail_queries
from tests.support.testapp.models import Product

from .tools.degraded import FAULTS
from .tools.published import urls_in, urls_of
from .tools.shop import (
    ALLOW,
    IS_SOAK,
    ON_SQLITE,
    ORIGIN,
    STEP,
    DatedSource,
    publish,
    rename,
    table,
)

pytestmark = [pytest.mark.django_db(transaction=True), ON_SQLITE]

ROUNDS = 50 if IS_SOAK else 2

#: Seconds that all but one of a hundred answers take at most.
P99 = 1.0 if IS_SOAK else 5.0  # of a machine that may be busy

#: Paths with the answer that each has while all is well.
PATHS = {
    "/sitemap.xml": 200,
    "/sitemap.xml.gz": 200,
    "/sitemaps-2.xml": 200,
    "/sitemaps-2.xml.gz": 200,
    "/sitemaps-9.xml": 404,
    "/sitemap-built-1.xml": 200,
    "/sitemap-built-1.xml.gz": 200,
    "/sitemap-built-2.xml": 200,
    "/sitemap-built-3.xml": 410,
    "/sitemap-built-99.xml": 404,
    "/sitemap-live-1.xml": 200,
    "/sitemap-live-2.xml.gz": 200,
    "/sitemap-live-99.xml": 404,
    "/sitemap-nobody-1.xml": 404,
    "/sitemap-built-1.txt": 200,
    "/sitemap-built-3.txt": 410,
    "/sitemap-live-2.txt.gz": 200,
    "/sitemap-live.txt": 404,
    "/sitemap-built.rss": 200,
    "/sitemap-live.atom.gz": 200,
    "/robots.txt": 200,
    key_files.PATH: 200,
    "/another.txt": 404,
}


@pytest.fixture
def site(sections, configure, monkeypatch) -> None:
    """Have a section that is built, with a merged page, and one that is not.

    The first index has no place for all of them, so there is a second.
    """
    monkeypatch.setattr(limits, "MAX_ENTRIES", 1)
    configure(
        LIVE_CACHE_SECONDS=60,
        ROBOTS={"RULES": {"DISALLOW": "/admin/"}},
        ENGINES=key_files.ENGINES,
    )
    publish(30, DatedSource, name="built")
    Product.objects.filter(pk__gt=11 * STEP).delete()
    build(**ALLOW)
    merged, _ = Page.objects.of("default", "built").filter(number=3).delete()
    assert merged == 1
    rename([0], "edit")
    sections.register("live", DatedSource)


def ask(client: Client, path: str, number: int) -> tuple[int, float]:
    """Ask in one of several ways; return the status and the seconds."""
    headers = [{}, {"Accept-Encoding": "gzip"}, {"If-None-Match": '"x"'}][number % 3]
    began = time.perf_counter()
    response = client.generic(
        "HEAD" if number % 4 == 3 else "GET", path, headers=headers
    )
    return response.status_code, time.perf_counter() - began


@dataclass
class Answers:
    statuses: Counter[int] = field(default_factory=Counter)
    seconds: list[float] = field(default_factory=list)
    bad: list[str] = field(default_factory=list)

    def ask(self, client: Client, paths: dict[str, int]) -> None:
        for number in range(ROUNDS):
            cached._paused_until.clear()  # as in another process
            for path, expected in paths.items():
                status, seconds = ask(client, path, number)
                self.statuses[status] += 1
                self.seconds.append(seconds)
                if status != expected:
                    self.bad.append(f"{status} {path}")

    def judge(self, what: str, figures: Callable[..., None]) -> None:
        """Print the figures, and fail if an answer was bad, or they took too long."""
        times = sorted(self.seconds)
        p99 = times[int(len(times) * 0.99)]
        figures(
            f"degraded, {what}",
            points=len(times),
            bad=self.bad,
            answers=dict(self.statuses),
            p99=f"{p99:.3f}s",
            slowest=f"{times[-1]:.3f}s",
        )
        assert p99 <= P99


@pytest.mark.usefixtures("site", "quiet")
@pytest.mark.parametrize("fault", FAULTS)
def test_every_url_is_answered(fault: str, valkey, chaos, figures):
    """As if nothing was wrong, and in a second, by a process that has just begun."""
    client, answers = Client(raise_request_exception=False), Answers()
    for is_built in (True, False):
        if not is_built:  # while it is not, the index is rendered on request
            Page.objects.of("default", "").update(wanted=10**6)
        with FAULTS[fault](valkey, chaos):
            answers.ask(client, PATHS)
            pages = {n: client.get(f"/sitemap-live-{n}.xml").content for n in "12"}
            listed = urls_in(client.get("/sitemaps-2.xml").content)
        assert urls_of(pages) == table()
        assert listed == [f"{ORIGIN}/sitemap-built-2.xml"]
    answers.judge(fault, figures)
    cache.clear()


@pytest.mark.usefixtures("site", "quiet")
@pytest.mark.parametrize("has_answered", [True, False])
def test_robots_needs_no_database(has_answered, client, figures):
    """The last good answer; of a process that has just begun, one with the index.

    A crawler takes a 5xx for a ban of everything.
    """
    robots_txt._last.clear()
    expected = client.get("/robots.txt").content
    assert b"/sitemaps-2.xml\n" in expected
    if not has_answered:
        robots_txt._last.clear()
        line = b"Sitemap: https://example.com/sitemaps-2.xml\n"
        expected = expected.replace(line, b"")
    with fail_queries(lambda sql: True, error=OperationalError):
        answers = [client.get("/robots.txt") for _ in range(ROUNDS)]
        key = client.get(key_files.PATH)
    bad = [a for a in answers if (a.status_code, a.content) != (200, expected)]
    figures("robots.txt without a database", points=len(answers), bad=bad)
    assert (key.status_code, key.content) == (200, key_files.KEY.encode())
