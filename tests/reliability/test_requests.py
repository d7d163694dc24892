"""T14: no request, however odd, costs more than a page, writes, or breaks anything."""

from __future__ import annotations

import logging
import random
import string
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
from django.db import connection
from django.test import Client

from django_sitemaps_plus.building.refresh import refresh
from django_sitemaps_plus.models import Page, State
from tests.integration.key_files import ENGINES, PATH
from tests.testapp.models import Product

from .shop import ALLOW, IS_SOAK, STEP, PlainSource, add_quietly, some_seed

pytestmark = pytest.mark.django_db(transaction=True)

REQUESTS = 20_000 if IS_SOAK else 3_000

#: What the promise allows for any path, query and header.
PROMISED = {200, 304, 400, 404, 406, 410}

#: RFC 9110 asks for 412 where If-Match or If-Unmodified-Since does not hold, and for
#: 405 where the method is another than GET or HEAD.
PRECONDITIONS = {"If-Match", "If-Unmodified-Since"}

MAX_QUERIES = 4
MAX_SECONDS = 2.5  # ten times what the promise says, on a busy machine

NUMBERS = (
    *["1", "2", "3", "4", "5", "6", "7"] * 4,
    *["0", "-1", "01", "1e3", "1.0", "+1", "0x1"],
    "999999999",
    str(10**9),
    "9" * 5_000,
    "\u0661\u0662",
    "\uff11",
    "1%00",
    "1%0a",
    "1\n",
    " 1",
    "",
)

SECTIONS = (
    *["built", "live", "half"] * 8,
    *("nobody", "BUILT", "", "..", "built-1", "-", "_", "a" * 64, "a" * 65),
    "%2e%2e%2f",
    "b\u00fcilt",
    "built%00",
    "built'--",
    "<script>",
)

ENDINGS = (*[".xml"] * 8, ".xml.gz", ".txt", ".rss", ".xml/", ".xml%00", "")

PATHS = (
    "/sitemap.xml",
    "/sitemap.xml.gz",
    "/sitemaps-2.xml",
    "/sitemaps-1.xml",
    "/sitemaps-0.xml",
    "/sitemaps-999999.xml",
    "/sitemaps-2.xml.gz",
    "/sitemaps-9999999.xml",
    "/sitemap.xml/",
    "/%2Fsitemap.xml",
    "/%2e%2e/sitemap.xml",
    "/sitemap.xml%0d%0aX-Evil:1",
    "/sitemap\u2028.xml",
    *["/robots.txt", "/robots.txt/", "/ROBOTS.TXT", "/robots.txt%0a"],
    *[PATH, f"{PATH}%00", PATH.upper(), "/humans.txt", f"/{'k' * 5_000}.txt"],
)

METHODS = (*["GET"] * 8, *["HEAD"] * 3, "POST", "PUT", "DELETE", "OPTIONS", "BREW")

HEADERS: dict[str, tuple[str, ...]] = {
    "Accept": ("*/*", "text/html", "application/xml;q=0", "a/b," * 16_000),
    "Accept-Encoding": (
        *("gzip", "identity;q=0", "*;q=0", "gzip;q=x", "gzip;q=1e999", "gzip;q=nan"),
        *("gzip;;;=", ",,,,", "br", "gzip;q=0.001", "x" * 65_536, "gzip," * 13_000),
    ),
    "Accept-Language": ("de", "xx-YY", "*", "de;q=nan", "d" * 65_536),
    "If-None-Match": (
        *("*", '"x"', 'W/"x"', '"', "W/", '"a", "b", W/"c"', "\x00"),
        '"' + "f" * 64 + '",' * 2,
        ", ".join([f'"{number:064x}"' for number in range(15_000)]),
    ),
    "If-Match": ("*", '"x"', 'W/"x"', ","),
    "If-Modified-Since": (
        *("Thu, 01 Jan 2026 00:00:00 GMT", "Fri, 31 Dec 9999 23:59:59 GMT", "never"),
        *("Thu, 99 Jan 2026 00:00:00 GMT", "Thu, 01 Jan 0000 00:00:00 GMT", "0"),
        "Thursday, 01-Jan-70 00:00:00 GMT",
    ),
    "If-Unmodified-Since": ("Thu, 01 Jan 1970 00:00:00 GMT", "x"),
    "If-Range": ('"x"', "Thu, 01 Jan 2026 00:00:00 GMT"),
    "Range": ("bytes=0-0", "bytes=-1", "bytes=9-1", "bytes=0-0," * 5_000, "items=1"),
    "Host": ("example.com", "evil.example", "a b", "[::1", "x" * 5_000, "", "\u00e9"),
    "X-Forwarded-Host": ("evil.example",),
    "X-Forwarded-Proto": ("gopher",),
    "Cookie": ("sessionid=" + "x" * 8_000, "=;=;", "csrftoken=\x00"),
    "Content-Length": ("1000000",),
    "X-Http-Method-Override": ("DELETE",),
}

QUERIES = (
    "",
    "",
    "",
    "?p=1",
    "?p=999",
    "?p=" + "9" * 5_000,
    "?%00",
    "?a[]=1&a[]=2",
    "?",
)


@dataclass
class Watch:
    """Counts what a request asks of the database, and refuses what it may not."""

    queries: int = 0
    most: int = 0
    writes: list[str] = field(default_factory=list)

    def __call__(self, execute: Any, sql: str, *rest: Any) -> Any:
        """Stand between Django and the database."""
        self.queries += 1
        if not sql.lstrip("( ").upper().startswith("SELECT"):
            self.writes.append(sql)
        return execute(sql, *rest)

    def next(self) -> int:
        """Begin a new request; return the queries of the last one."""
        last, self.queries = self.queries, 0
        self.most = max(self.most, last)
        return last


class Requests:
    """Random requests, each odd in a few ways."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        hashes = Page.objects.values_list("gzip_hash", "plain_hash")
        self.known = [f'W/"x", "{tag}"' for pair in hashes for tag in pair if tag]

    def make(self) -> tuple[str, str, dict[str, str]]:
        """Return method, URL and headers."""
        chance = self.chance
        path = self._page() if chance.random() < 0.75 else chance.choice(PATHS)
        if chance.random() < 0.1:
            path = self._damaged(path)
        names = chance.sample(list(HEADERS), chance.choice([0, 0, 1, 1, 2, 3, 5]))
        headers = {name: chance.choice(HEADERS[name]) for name in names}
        if chance.random() < 0.2:
            headers["If-None-Match"] = chance.choice(self.known)
        return chance.choice(METHODS), path + chance.choice(QUERIES), headers

    def _page(self) -> str:
        choice = self.chance.choice
        return f"/sitemap-{choice(SECTIONS)}-{choice(NUMBERS)}{choice(ENDINGS)}"

    def _damaged(self, path: str) -> str:
        at = self.chance.randrange(2, len(path) + 1)
        return path[:at] + self.chance.choice(string.printable[:94]) + path[at:]


@pytest.fixture
def site(sections: Any, settings: Any) -> None:
    """Have a section that is built, one that is served live, and one in between."""
    files = {"ROBOTS": {}, "ENGINES": ENGINES}
    settings.SITEMAPS_PLUS = {**settings.SITEMAPS_PLUS, **files}
    add_quietly(range(0, 60 * STEP, STEP))
    sections.register("built", PlainSource)
    refresh()
    # Pages 2 and 3 become one, and page 6 is left without entries.
    Product.objects.filter(pk__gt=11 * STEP, pk__lt=28 * STEP).delete()
    Product.objects.filter(pk__gte=50 * STEP).delete()
    refresh((), ALLOW)
    sections.register("half", PlainSource)
    refresh(["half"])
    Page.objects.of("default", "half").filter(number=2).update(built=0, object="")
    sections.register("live", PlainSource)
    retired, _ = (
        Page.objects.of("default", "built").filter(state=State.RETIRED).delete()
    )
    assert retired == 1  # as if it was pruned: its number is gone for good
    Client().get("/sitemap-live-1.xml")  # whoever is first makes the live plan


@pytest.fixture
def quiet() -> Iterator[None]:
    """Log nothing: thousands of requests are wrong on purpose."""
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)


def is_allowed(status: int, method: str, headers: dict[str, str]) -> bool:
    """Return whether a request of this kind may be answered so."""
    if method not in ("GET", "HEAD"):
        return status == 405 or status in PROMISED - {200, 304}
    return status in PROMISED or (
        status == 412 and not PRECONDITIONS.isdisjoint(headers)
    )


@pytest.mark.usefixtures("site", "quiet")
def test_random_requests(figures):
    """Only the answers of the promise, at most four queries, nothing written."""
    seed = some_seed(0)
    requests, watch, client = Requests(seed), Watch(), Client()
    bad: list[str] = []
    answers: Counter[int] = Counter()
    slowest = 0.0
    with connection.execute_wrapper(watch):
        for _ in range(REQUESTS):
            method, url, headers = requests.make()
            began = time.perf_counter()
            response = client.generic(method, url, headers=headers)
            slowest = max(slowest, time.perf_counter() - began)
            answers[response.status_code] += 1
            what = f"{response.status_code} {method} {url[:80]!r} {sorted(headers)}"
            if not is_allowed(response.status_code, method, headers):
                bad.append(what)
            if watch.next() > MAX_QUERIES:
                bad.append(f"too many queries: {what}")
    figures(
        "random requests",
        seed=seed,
        points=REQUESTS,
        kills=0,
        lost=0,
        bad=len(bad),
        answers=dict(answers),
        queries=watch.most,
        slowest=f"{slowest:.3f}s",
    )
    assert bad[:5] == []
    assert watch.writes == []
    assert slowest < MAX_SECONDS
    assert {200, 304, 404, 410} <= set(answers)
