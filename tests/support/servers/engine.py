"""Engines played over HTTP on loopback: they check, keep a journal, and misbehave.

By hand: ``python -m tests.support.servers.engine --port 8100`` prints when it got what,
and with ``--json`` all that it knows of each request.
"""

import argparse
import json
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from .engine_faults import FAULTS, Fault, Faults, answer
from .engine_requests import Request, State, Verdict
from .engine_rules import judge, kind_of
from .programs import HOST, Program, place

#: Of a request; who sends more is cut off.
_MAX_BODY = 20_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Heard:
    """One request, as the journal has it before it is answered.

    Attributes:
        at: when, as ``time.time()``.
        kind: of engine: "indexnow", "search_console" and so on.
        method, path, query, body: what was received.
        targets: URLs that were accepted.
        status: what was decided, told or not; None where it was not judged.
        fault: what it met, or None.
    """

    at: float
    kind: str
    method: str
    path: str
    query: str
    body: str
    targets: tuple[str, ...]
    status: int | None
    fault: str | None


def count_accepted(journal: list[Heard]) -> Counter[str]:
    """Return how many times each URL was accepted, answered or not."""
    return Counter(target for heard in journal for target in heard.targets)


class LocalEngine:
    def __init__(
        self,
        port: int = 0,
        *,
        site_url: str | None = None,
        listener: Callable[[Heard], None] | None = None,
    ) -> None:
        self.faults = Faults()
        self.journal: list[Heard] = []
        self.ended = threading.Event()
        self._listener = listener
        self._lock = threading.Lock()
        self._server = _Server((HOST, port), self)
        self.url = f"http://{HOST}:{self._server.server_address[1]}"
        self.state = State(url=self.url, site_url=site_url)

    def serve(self) -> None:
        self._server.serve_forever(poll_interval=0.01)

    def close(self) -> None:
        self.ended.set()
        self._server.shutdown()
        self._server.server_close()

    def heard(self, kind: str) -> list[Heard]:
        return [heard for heard in self.journal if heard.kind == kind]

    def accepted(self) -> Counter[str]:
        return count_accepted(self.journal)

    def hear(self, request: Request, fault: Fault | None) -> Verdict:
        """Judge a request, and note it before anything is answered."""
        # One at a time, as what is known changes by it.
        with self._lock:
            verdict = self._decide(request, fault)
            heard = Heard(
                at=time.time(),
                kind=kind_of(request.path),
                method=request.method,
                path=request.path,
                query=request.query,
                body=request.body.decode(errors="replace"),
                targets=verdict.targets if verdict.is_accepted else (),
                status=None if fault and fault.name == "hang" else verdict.status,
                fault=fault and fault.name,
            )
            self.journal.append(heard)
            if self._listener is not None:
                self._listener(heard)
        return verdict

    def _decide(self, request: Request, fault: Fault | None) -> Verdict:
        if fault is None:
            return judge(self.state, request)
        if not fault.listens:
            return Verdict(status=fault.status or 200, body=b"on purpose")
        verdict = judge(self.state, request)
        if not verdict.is_accepted or fault.status is None:
            return verdict
        return Verdict(status=fault.status, targets=verdict.targets)


class _Server(ThreadingHTTPServer):
    daemon_threads = False  # so that closing waits for them
    request_queue_size = 128

    def __init__(self, address: tuple[str, int], engine: LocalEngine) -> None:
        self.engine = engine
        super().__init__(address, _Handler)

    def handle_error(self, request: Any, client_address: Any) -> None:
        if not isinstance(sys.exception(), OSError):  # else the client has left
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    timeout = 5  # seconds that a client may keep it waiting

    def handle_any(self) -> None:
        engine = self.server.engine
        path, _, query = self.path.partition("?")
        size = int(self.headers.get("Content-Length", "-1"))
        if size > _MAX_BODY or (size < 0 and self.command != "GET"):
            self.send_error(411)
            return
        request = Request(
            method=self.command,
            path=path,
            query=query,
            headers=self.headers,
            body=self.rfile.read(max(size, 0)),
        )
        fault = engine.faults.take(kind_of(path))
        answer(self, fault, engine.hear(request, fault), engine.ended)

    # http.server calls them by these names.
    do_GET = do_POST = do_PUT = do_DELETE = handle_any  # noqa: N815

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - as it has it
        """Print nothing; the journal has it."""


@contextmanager
def start_engine(**options: Any) -> Iterator[LocalEngine]:
    """Run one in a thread for the time of a ``with`` block."""
    engine = LocalEngine(**options)
    thread = threading.Thread(target=engine.serve)
    thread.start()
    try:
        yield engine
    finally:
        engine.close()
        thread.join()


class EngineProgram(Program):
    """One that runs as a program of its own, to be killed and started again.

    It forgets what it knew, but not its journal, nor its address.
    """

    def journal(self) -> list[Heard]:
        found = []
        for line in self.log.read_text("utf-8").splitlines():
            # The last line of a life may be torn: nobody had an answer to that.
            with suppress(ValueError, TypeError):
                values = json.loads(line)
                found.append(Heard(**{**values, "targets": tuple(values["targets"])}))
        return found


@contextmanager
def start_engine_program(*arguments: str) -> Iterator[EngineProgram]:
    """Run one as a program, with words of its command line besides the port."""
    with place("engine") as (port, directory):
        command = [sys.executable, "-m", "tests.support.servers.engine"]
        command += ["--port", str(port), "--json", *arguments]
        path = {"PYTHONPATH": ":".join(filter(None, sys.path))}
        engine = EngineProgram(
            command, directory=directory, environment=path, port=port
        )
        with engine.started():
            yield engine


def _chances(text: str) -> tuple[str, float]:
    name, _, chance = text.partition("=")
    if name not in FAULTS:
        raise argparse.ArgumentTypeError(f"{name!r}: give one of {', '.join(FAULTS)}")
    return name, float(chance)


def main(arguments: list[str] | None = None) -> None:
    """Serve until the program is ended, and print each request as a line of JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=8100)
    parser.add_argument("--site", help="where key files are: http://127.0.0.1:8000")
    parser.add_argument(
        "--fault", type=_chances, action="append", default=[], help="such as 503=0.25"
    )
    parser.add_argument("--seed", type=int, default=0, help="of the faults")
    words = "print all that is known of each request"
    parser.add_argument("--json", action="store_true", help=words)
    given = parser.parse_args(arguments)
    listener = _print_json if given.json else _print_row
    engine = LocalEngine(given.port, site_url=given.site, listener=listener)
    engine.faults.misbehave(dict(given.fault), given.seed)
    if given.json:
        _write("\n")  # ends a line that an earlier life has torn
    sys.stderr.write(f"An engine listens at {engine.url}\n")
    with suppress(KeyboardInterrupt):
        engine.serve()


def _print_json(heard: Heard) -> None:
    _write(json.dumps(asdict(heard)) + "\n")


def _print_row(heard: Heard) -> None:
    """Print the time, and each target in a line of its own."""
    at = time.strftime("%H:%M:%S", time.localtime(heard.at))
    answer = f"answered {heard.status}" if heard.status else "got no answer"
    for row in heard.targets or [f"{heard.method} {heard.path} {answer}"]:
        _write(f"{at:8}  {row}\n")
        at = ""


def _write(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()


if __name__ == "__main__":
    main()
