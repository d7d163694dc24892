"""T18: what the app asks, where it connects to, and what that can cost it."""

import gzip
import socket
import time
import tracemalloc
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import Any

import pytest

from django_sitemaps_plus.exceptions import EngineError, EngineRefused, RetryLater
from django_sitemaps_plus.notifications.http import accepted, client, request
from tests.support.servers.odd_http import (
    OddServer,
    Taken,
    answer,
    drips,
    says,
    start_odd,
    stays_silent,
)

from .tools.egress import ALLOWED, FORBIDDEN, METADATA, NAMES, PUBLIC, Wire
from .tools.shop import IS_SOAK

#: A request takes at most 10 s: that much is promised, and asserted in a soak alone.
MAX_SECONDS = 10.0

#: Bytes of an answer that are kept.
PROMISED_BODY = 65_536

#: Bytes of one that are read: a body, and what comes with it in a buffer.
PROMISED_READ = PROMISED_BODY + 8_192

#: Bytes of memory that one may take at its peak.
PROMISED_BYTES = 20_000_000


@pytest.fixture
def wire(monkeypatch) -> Wire:
    """Give what hears each look-up and each connection of the test."""
    wire = Wire()
    monkeypatch.setattr(socket, "getaddrinfo", wire.resolve)
    monkeypatch.setattr(
        socket.socket, "connect", lambda client, address: wire.connect(client, address)
    )
    return wire


@pytest.fixture
def listener() -> Iterator[OddServer]:
    with start_odd(says(answer()), is_hasty=True) as server:
        yield server


@pytest.fixture
def peak() -> Iterator[Callable[[], int]]:
    """Return what tells the most memory that was taken at once."""
    tracemalloc.start()
    yield lambda: tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()


@pytest.fixture
def taken(monkeypatch) -> Taken:
    """Give what counts the bytes that are read of answers."""
    return Taken(monkeypatch)


def outcome(url: str, **arguments: Any) -> tuple[str, float]:
    began = time.monotonic()
    try:
        came = type(accepted(request("POST", url, **arguments))).__name__
    except EngineError as error:
        came = type(error).__name__
    return came, time.monotonic() - began


def test_forbidden_urls_connect_to_nobody(wire, listener, figures):
    """Neither what they name nor what a resolver says of it is asked."""
    urls = [url.replace("PORT", str(listener.port)) for url in FORBIDDEN]
    bad = [url for url in urls if outcome(url)[0] != EngineRefused.__name__]
    figures(
        "egress, forbidden",
        points=len(urls),
        connections=len(wire.connected) + listener.connections,
        bad=len(bad),
    )
    assert len(urls) >= 60
    assert bad == []
    assert wire.connected == []
    assert listener.connections == 0


@pytest.mark.parametrize("url", ALLOWED)
def test_a_public_url_connects_to_the_checked_address(wire, url: str):
    """One look-up at most, and then to the very address that it gave."""
    assert outcome(url)[0] == RetryLater.__name__  # since nobody is there
    assert wire.connected == [ALLOWED[url]]
    assert len(wire.lookups) <= 1


def test_a_name_that_moves_to_loopback_is_not_followed(wire, listener):
    """The first answer of a resolver was checked, and is the one that is used."""
    url = f"https://rebinding.example:{listener.port}/"
    assert outcome(url)[0] == RetryLater.__name__
    assert wire.lookups == ["rebinding.example"]
    assert wire.connected == [PUBLIC]
    # And who asks again is told the truth of then.
    assert outcome(url)[0] == EngineRefused.__name__
    assert listener.connections == 0


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1"])
def test_loopback_is_asked_by_its_name(wire, listener, host: str):
    """So the wire lets through what is allowed, and the figures mean something."""
    assert outcome(f"http://{host}:{listener.port}/")[0] == "Answer"
    assert wire.connected == ["127.0.0.1"]
    assert listener.connections == 1


@pytest.mark.parametrize("address", [PUBLIC, METADATA, "10.0.0.1"])
def test_a_localhost_elsewhere_is_not_asked(wire, monkeypatch, address: str):
    """What the URL says is this machine must be this machine."""
    monkeypatch.setitem(NAMES, "localhost", [address])
    assert outcome("http://localhost/")[0] == EngineRefused.__name__
    assert wire.connected == []


@pytest.mark.parametrize("status", [300, 301, 302, 303, 307, 308])
@pytest.mark.parametrize("target", [f"http://{METADATA}/latest/", "LISTENER", "/"])
def test_redirects_are_not_followed(wire, listener, status: int, target: str):
    """Neither to the metadata of a cloud nor to a server on this machine."""
    location = f"Location: {target.replace('LISTENER', listener.url)}"
    with start_odd(says(answer(f"{status} Gone", b"", location))) as server:
        assert outcome(server.url)[0] == EngineRefused.__name__
        assert server.connections == 1
    assert wire.connected == ["127.0.0.1"]
    assert listener.connections == 0


#: Servers that do not come to an end.
ENDLESS = {
    "silence": stays_silent,
    "status line": drips(b"HTTP/1.1 200 O"),
    "headers": drips(b"HTTP/1.1 200 OK\r\nX: "),
    "many headers": drips(b"HTTP/1.1 200 OK\r\n", b"X: 1\r\n"),
    "interim answers": drips(b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
    "body": drips(answer(length=10**6)),
    "body that closes": drips(answer("200 OK", b"", "Connection: close", length=10**6)),
    "chunks": drips(
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", b"1\r\nx\r\n"
    ),
}


def test_nobody_keeps_us_longer_than_promised(figures, monkeypatch):
    """Whatever drips, and where nobody speaks TLS or takes what we send."""
    if not IS_SOAK:  # the machine itself may pause beside other tests
        monkeypatch.setattr(client, "MAX_SECONDS", MAX_SECONDS / 10)
    with ExitStack() as stack, ThreadPoolExecutor(20) as pool:
        servers = [stack.enter_context(start_odd(reply)) for reply in ENDLESS.values()]
        deaf = stack.enter_context(start_odd(stays_silent, is_hasty=True))
        no_tls = stack.enter_context(start_odd(drips(b"\x16\x03\x03\x40\x00")))
        asked = [pool.submit(outcome, server.url) for server in servers]
        asked.append(pool.submit(outcome, deaf.url, text="x" * 2 * 10**7))
        asked.append(pool.submit(outcome, f"https://localhost:{no_tls.port}/"))
        results = [future.result() for future in asked]
    slowest = max(seconds for _, seconds in results)
    figures(
        "egress, endless",
        points=len(results),
        slowest=f"{slowest:.2f}s",
        bad=sum(came != RetryLater.__name__ for came, _ in results),
    )
    assert {came for came, _ in results} == {RetryLater.__name__}
    assert slowest <= MAX_SECONDS


BOMB = gzip.compress(bytes(60_000_000))

#: Servers that say too much.
HUGE = {
    "100 kB body": says(answer(body=b"x" * 10**5)),
    "10 MB body": says(answer(body=b"x" * 10**7)),
    "10 MB body without a length": says(b"HTTP/1.1 200 OK\r\n\r\n" + b"x" * 10**7),
    "10 MB chunk": says(
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n989680\r\n"
        + b"x" * 10**7
    ),
    "60 MB chunk of a negative size": says(
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-1\r\n"
        + bytes(6 * 10**7)
    ),
    "10 MB status line": says(b"HTTP/1.1 200 " + b"x" * 10**7),
    "10 MB header": says(b"HTTP/1.1 200 OK\r\nX: " + b"x" * 10**7),
    "10 MB of headers": says(b"HTTP/1.1 200 OK\r\n" + b"X: 12345\r\n" * 10**6),
    "gzip bomb": says(answer("200 OK", BOMB, "Content-Encoding: gzip")),
    "gzip bomb in chunks": says(
        b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nTransfer-Encoding: gzip, "
        b"chunked\r\n\r\n%x\r\n%b\r\n0\r\n\r\n" % (len(BOMB), BOMB)
    ),
}


@pytest.mark.parametrize("name", HUGE)
def test_nobody_fills_our_memory(name: str, peak, taken, figures):
    """Of what is too long a little is read and kept, or nothing."""
    with start_odd(HUGE[name]) as server:
        try:
            kept = len(request("GET", server.url).body)
        except RetryLater:
            kept = 0
    figures(
        f"egress, {name}", kept=kept, read=taken.bytes, peak=f"{peak() / 1e6:.1f}MB"
    )
    assert kept <= PROMISED_BODY
    assert 0 < taken.bytes <= PROMISED_READ
    assert peak() < PROMISED_BYTES
