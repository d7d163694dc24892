"""T14: no request, however odd, costs more than a page, writes, or breaks anything."""

import random
import re
import socket
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

import pytest
from django.db import connection
from django.test import Client

from django_sitemaps_plus.building.build import build
from django_sitemaps_plus.models import Page, State
from tests.acceptance.site import HANG, Site, built_site
from tests.support.key_files import ENGINES
from tests.support.testapp.models import Product

from .tools.odd_requests import Requests, is_allowed
from .tools.shop import ALLOW, IS_SOAK, STEP, PlainSource, publish, some_seed

REQUESTS = 20_000 if IS_SOAK else 800

MAX_QUERIES = 4
MAX_SECONDS = 2.5  # ten times what the promise says, on a busy machine


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


@pytest.fixture
def site(sections: Any, configure: Any) -> None:
    """Have a section that is built, one that is served live, and one in between."""
    files = {"ROBOTS": {}, "ENGINES": ENGINES}
    configure(**files)
    publish(60, name="built")
    # Pages 2 and 3 become one, and page 6 is left without entries.
    Product.objects.filter(pk__gt=11 * STEP, pk__lt=28 * STEP).delete()
    Product.objects.filter(pk__gte=50 * STEP).delete()
    build(**ALLOW)
    sections.register("half", PlainSource)
    build(["half"])
    Page.objects.of("default", "half").filter(number=2).update(built=0, object="")
    sections.register("live", PlainSource)
    retired, _ = (
        Page.objects.of("default", "built").filter(state=State.RETIRED).delete()
    )
    assert retired == 1  # as if it was pruned: its number is gone for good
    Client().get("/sitemap-live-1.xml")  # whoever is first makes the live plan


def tags() -> Iterator[tuple[str, str]]:
    for page in Page.objects.of("default", "built").exclude(plain_hash=""):
        path = f"/sitemap-built-{page.number}.xml"
        yield from [(path, page.plain_hash), (f"{path}.gz", page.gzip_hash)]


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("site", "quiet")
def test_random_requests(figures):
    """Only the answers of the promise, at most four queries, nothing written."""
    seed = some_seed(0)
    requests = Requests(seed, ["built", "live", "half"], tags())
    pages = [("GET", f"/sitemap-built-{number}.xml", {}) for number in range(1, 8)]
    watch, client = Watch(), Client()
    bad: list[str] = []
    answers: Counter[int] = Counter()
    slowest = 0.0
    with connection.execute_wrapper(watch):
        for method, url, headers in chain(pages, requests.many(REQUESTS)):
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
        bad=bad,
        answers=dict(answers),
        queries=watch.most,
        slowest=f"{slowest:.3f}s",
    )
    assert watch.writes == []
    assert slowest < MAX_SECONDS
    assert {200, 304, 404, 410} <= set(answers)


RAW_REQUESTS = 2_000 if IS_SOAK else 400

MAX_SECONDS = 2.5  # ten times what the promise says, on a busy machine

_STATUS = re.compile(rb"HTTP/1\.[01] (\d{3}) ")

#: What gunicorn says of its own to what is no request: a transfer coding that it does
#: not know is 501 by RFC 9112 section 6.1, headers that are too large 431.
BY_THE_SERVER = {400, 403, 413, 414, 431, 501}


def plain(head: bytes, chance: random.Random) -> bytes:
    return head


def without_returns(head: bytes, chance: random.Random) -> bytes:
    return head.replace(b"\r\n", b"\n")


def of_old(head: bytes, chance: random.Random) -> bytes:
    """Ask as in 1996, without a host."""
    return head.replace(b"HTTP/1.1", b"HTTP/1.0").replace(b"Host:", b"X-Host:")


def with_noise(head: bytes, chance: random.Random) -> bytes:
    at = chance.randrange(len(head))
    return head[:at] + chance.randbytes(chance.randint(1, 4)) + head[at:]


def cut(head: bytes, chance: random.Random) -> bytes:
    """Go away in the middle."""
    return head[: chance.randrange(len(head))]


def twice(head: bytes, chance: random.Random) -> bytes:
    kept = head.replace(b"Connection: close", b"Connection: keep-alive")
    return kept + b"GET /sitemap.xml HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"


def with_body(head: bytes, chance: random.Random) -> bytes:
    """Send a body in chunks that are none."""
    coding = chance.choice([b"chunked", b"chunked, chunked", b"gzip", b"\x0bchunked"])
    more = b"\r\nTransfer-Encoding: " + coding + b"\r\n\r\n"
    return head[:-4] + more + chance.choice([b"0\r\n\r\n", b"-1\r\nx\r\n", b"zz\r\n"])


def smuggled(head: bytes, chance: random.Random) -> bytes:
    """Say twice how long the body is, with another request in it."""
    more = b"\r\nContent-Length: 5\r\nContent-Length: 0\r\n\r\n"
    return head[:-4] + more + b"GET /sitemap.xml HTTP/1.1\r\n\r\n"


WAYS: tuple[Callable[[bytes, random.Random], bytes], ...] = (
    *[plain] * 8,
    *(without_returns, of_old, with_noise, cut, twice, with_body, smuggled),
)


def written(method: str, url: str, headers: dict[str, str]) -> bytes:
    """Return the head of a request, with the characters that it is given."""
    lines = [f"{method} {url} HTTP/1.1", "Connection: close"]
    if "Host" not in headers:
        lines.append("Host: 127.0.0.1")
    lines += [f"{name}: {value}" for name, value in headers.items()]
    return "\r\n".join([*lines, "", ""]).encode("utf-8", "surrogatepass")


def ask(port: int, data: bytes) -> bytes:
    found = []
    with socket.create_connection(("127.0.0.1", port), timeout=HANG) as client:
        with suppress(OSError):  # it has heard enough
            client.sendall(data)
            client.shutdown(socket.SHUT_WR)
        with suppress(ConnectionError):
            while piece := client.recv(65_536):
                found.append(piece)
    return b"".join(found)


@pytest.fixture(scope="module")
def served_site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """Serve the example project; its countries and cities are built, its pages too."""
    with built_site(tmp_path_factory) as served_site:
        yield served_site


def test_raw_requests(served_site: Site, figures: Callable[..., None]) -> None:
    """The server says no, or we do; and the next client is served as ever."""
    seed = some_seed(0)
    chance = random.Random(seed)
    good = served_site.get("/sitemap.xml")
    tags = [("/sitemap.xml", good.headers["ETag"].strip('"'))]
    requests = Requests(seed, ["countries", "cities", "pages"], tags)
    port = served_site.socket.getsockname()[1]
    answers: Counter[Any] = Counter()
    bad, slowest = [], 0.0
    for _ in range(RAW_REQUESTS):
        method, url, headers = requests.make()
        way = chance.choice(WAYS)
        data = way(written(method, url, headers), chance)
        method = data.partition(b" ")[0].decode("latin-1")  # noise changes it too
        began = time.perf_counter()
        answer = ask(port, data)
        slowest = max(slowest, time.perf_counter() - began)
        found = _STATUS.match(answer)
        status = int(found[1]) if found else None  # closed without a word
        answers[status] += 1
        allowed = status is None or status in BY_THE_SERVER
        if way is plain and status is None:
            allowed = False
        if not allowed and not is_allowed(status or 0, method, headers):
            bad.append(f"{status} {way.__name__} {data[:120]!r}")
    figures(
        "raw requests",
        seed=seed,
        points=RAW_REQUESTS,
        bad=bad,
        answers=dict(answers),
        slowest=f"{slowest:.3f}s",
    )
    assert slowest < MAX_SECONDS
    assert {200, 400, 404} <= set(answers)
    assert served_site.get("/sitemap.xml").content == good.content
