"""Processes beside the test, forked from it."""

from __future__ import annotations

import os
import signal
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from django.core.servers.basehttp import ThreadedWSGIServer, WSGIRequestHandler
from django.core.wsgi import get_wsgi_application
from django.db import connections

from tests.support.servers.programs import HOST


def fork(work: Callable[[], object], seconds: int = 0) -> int:
    """Do something in a process of its own, with no connection that it shares.

    Args:
        work: what; the process exits with 1 where it raises, else with 0.
        seconds: after which it has hung and is ended; 0 for never.

    Returns:
        Its id.
    """
    connections.close_all()
    with warnings.catch_warnings():
        # Python warns of other threads; here they only wait for the test runner.
        warnings.simplefilter("ignore", DeprecationWarning)
        pid = os.fork()
    if pid:
        return pid
    status = 1
    try:
        signal.alarm(seconds)
        work()
        status = 0
    except BaseException:  # noqa: BLE001 - whatever it is, pytest shows it
        traceback.print_exc()
    finally:
        os._exit(status)


def in_child(work: Callable[[], object]) -> int:
    """Do something in a forked process; return its status as os.wait() does."""
    return os.waitpid(fork(work), 0)[1]


def end(pid: int) -> int:
    """Kill a process; return its status."""
    os.kill(pid, signal.SIGKILL)
    return os.waitpid(pid, 0)[1]


@contextmanager
def running(work: Callable[[], object]) -> Iterator[None]:
    """Do something in a process of its own for the time of a ``with`` block."""
    pid = fork(work)
    try:
        yield
    finally:
        was_killed = os.WIFSIGNALED(end(pid))
    assert was_killed, "it has ended too early"


class _Handler(WSGIRequestHandler):
    """Says nothing of what it is asked, and answers at once."""

    disable_nagle_algorithm = True

    def log_message(self, *args: object) -> None:
        """Keep it."""


@contextmanager
def serving() -> Iterator[str]:
    """Serve the project from a process of its own; give its address."""
    server = ThreadedWSGIServer((HOST, 0), _Handler)
    server.set_app(get_wsgi_application())
    try:
        with running(server.serve_forever):
            yield f"{HOST}:{server.server_port}"
    finally:
        server.server_close()
