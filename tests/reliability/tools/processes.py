"""Processes beside the test, which work until they are killed."""

from __future__ import annotations

import os
import signal
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from django.core.servers.basehttp import ThreadedWSGIServer, WSGIRequestHandler
from django.core.wsgi import get_wsgi_application

from tests.support.servers.programs import HOST

from .killing import fork


@contextmanager
def running(work: Callable[[], object]) -> Iterator[None]:
    """Do something in a process of its own for the time of a ``with`` block.

    Raises:
        AssertionError: it ended by itself, or failed.
    """
    pid = fork()
    if not pid:
        try:
            work()
        except Exception:  # noqa: BLE001 - whatever it is, pytest shows it
            traceback.print_exc()
        finally:
            os._exit(1)
    try:
        yield
        assert os.waitpid(pid, os.WNOHANG) == (0, 0), "it has ended too early"
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


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
