"""How an engine misbehaves: once by a script, or by chance."""

import random
import threading
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler

from .engine_requests import Verdict

#: Bytes of a body that is far too big.
HUGE = 10_000_000

#: Seconds between two bytes of an answer that drips.
DRIP = 0.2


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """One way to misbehave.

    Attributes:
        name: what the journal calls it.
        status: the status in place of the one decided; None for that one.
        headers: sent besides.
        listens: whether the request is judged, and so may be accepted.
    """

    name: str
    status: int | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    listens: bool = True


def status(code: int, **headers: str) -> Fault:
    """Answer with a status; nothing is accepted, save by a 2xx.

    Args:
        code: the status.
        headers: their names with ``_`` for ``-``, as ``Retry_After="7"``.
    """
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    listens = 200 <= code < 300
    return Fault(name=str(code), status=code, headers=named, listens=listens)


FAULTS = {
    fault.name: fault
    for fault in [
        *(status(code) for code in (200, 202, 400, 403, 422, 503)),
        status(429, Retry_After="1"),
        status(302, Location="http://169.254.169.254/latest/meta-data/"),
        Fault(name="lost_ack"),  # accepts, and closes without an answer
        Fault(name="hang", listens=False),  # says nothing until it ends
        Fault(name="drip"),  # answers byte by byte
        Fault(name="huge"),  # answers with a body of 10 MB
        Fault(name="no_json"),  # answers with HTML
    ]
}


class Faults:
    """Which fault is whose turn; of none, the engine behaves."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._scripts: dict[str, deque[Fault | None]] = {}
        self._chances: Mapping[str, float] = {}
        self._random = random.Random(0)

    def script(self, *faults: Fault | str | None, kind: str = "") -> None:
        """Let the next requests meet these faults, one each; None for none.

        Args:
            faults: or their names.
            kind: of the engine whose requests count; without, all but the token
                endpoint's.
        """
        found = [FAULTS[f] if isinstance(f, str) else f for f in faults]
        with self._lock:
            self._scripts.setdefault(kind, deque()).extend(found)

    def misbehave(self, chances: Mapping[str, float], seed: int = 0) -> None:
        """Let each request that no script is for meet faults by chance."""
        with self._lock:
            self._chances = dict(chances)
            self._random = random.Random(seed)

    def heal(self) -> None:
        with self._lock:
            self._scripts.clear()
            self._chances = {}

    def take(self, kind: str) -> Fault | None:
        """Return what the next request of a kind meets."""
        with self._lock:
            for name in [kind] if kind == "token" else [kind, ""]:
                if self._scripts.get(name):
                    return self._scripts[name].popleft()
            if kind == "token" or not self._chances:
                return None
            drawn = self._random.random()
            for name, chance in self._chances.items():
                drawn -= chance
                if drawn < 0:
                    return FAULTS[name]
        return None


def answer(
    handler: BaseHTTPRequestHandler,
    fault: Fault | None,
    verdict: Verdict,
    ended: threading.Event,
) -> None:
    """Answer a request, as well or as badly as a fault has it."""
    name = fault.name if fault else ""
    if name == "lost_ack":
        return
    if name == "hang":
        ended.wait()
    elif name == "drip":
        _drip(handler, ended)
    else:
        bodies = {"huge": b"x" * HUGE, "no_json": b"<html>All is well</html>"}
        verdict = replace(verdict, body=bodies.get(name, verdict.body))
        _reply(handler, verdict, fault.headers if fault else {})


def _reply(
    handler: BaseHTTPRequestHandler, verdict: Verdict, headers: Mapping[str, str]
) -> None:
    handler.send_response(verdict.status)
    for name, value in headers.items():
        handler.send_header(name, value)
    if verdict.status != 204:
        handler.send_header("Content-Length", str(len(verdict.body)))
    handler.end_headers()
    if verdict.status != 204:
        handler.wfile.write(verdict.body)


def _drip(handler: BaseHTTPRequestHandler, ended: threading.Event) -> None:
    head = b"HTTP/1.1 200 OK\r\nX-Slow: "
    while not ended.wait(DRIP):
        handler.wfile.write(head[:1] or b"x")
        handler.wfile.flush()
        head = head[1:]
