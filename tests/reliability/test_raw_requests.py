"""T14 over a socket: what clients write that no library would, to a real server."""

from __future__ import annotations

import random
import re
import socket
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import pytest

from tests.acceptance.site import HANG, Site, built_site

from .tools.odd_requests import Requests, is_allowed
from .tools.shop import IS_SOAK, some_seed

REQUESTS = 2_000 if IS_SOAK else 400

MAX_SECONDS = 2.5  # ten times what the promise says, on a busy machine

_STATUS = re.compile(rb"HTTP/1\.[01] (\d{3}) ")

#: What gunicorn says of its own to what is no request: a transfer coding that it does
#: not know is 501 by RFC 9112 section 6.1, headers that are too large 431.
BY_THE_SERVER = {400, 403, 413, 414, 431, 501}


def plain(head: bytes, chance: random.Random) -> bytes:
    """Write it as it is."""
    return head


def without_returns(head: bytes, chance: random.Random) -> bytes:
    """End lines as Unix does."""
    return head.replace(b"\r\n", b"\n")


def of_old(head: bytes, chance: random.Random) -> bytes:
    """Ask as in 1996, without a host."""
    return head.replace(b"HTTP/1.1", b"HTTP/1.0").replace(b"Host:", b"X-Host:")


def with_noise(head: bytes, chance: random.Random) -> bytes:
    """Insert a few bytes of any kind."""
    at = chance.randrange(len(head))
    return head[:at] + chance.randbytes(chance.randint(1, 4)) + head[at:]


def cut(head: bytes, chance: random.Random) -> bytes:
    """Go away in the middle."""
    return head[: chance.randrange(len(head))]


def twice(head: bytes, chance: random.Random) -> bytes:
    """Ask for something else before there is an answer."""
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
    """Send bytes; return all that comes back."""
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
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """Serve the example project; its countries and cities are built, its pages too."""
    with built_site(tmp_path_factory.mktemp("raw")) as site:
        yield site


def test_raw_requests(site: Site, figures: Callable[..., None]) -> None:
    """The server says no, or we do; and the next client is served as ever."""
    seed = some_seed(0)
    chance = random.Random(seed)
    good = site.get("/sitemap.xml")
    tags = [("/sitemap.xml", good.headers["ETag"].strip('"'))]
    requests = Requests(seed, ["countries", "cities", "pages"], tags)
    port = site.socket.getsockname()[1]
    answers: Counter[Any] = Counter()
    bad, slowest = [], 0.0
    for _ in range(REQUESTS):
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
        points=REQUESTS,
        bad=bad,
        answers=dict(answers),
        slowest=f"{slowest:.3f}s",
    )
    assert slowest < MAX_SECONDS
    assert {200, 400, 404} <= set(answers)
    assert site.get("/sitemap.xml").content == good.content
