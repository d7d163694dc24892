"""A server on loopback that hears a request of HTTP, and then does as it likes."""

import contextlib
import re
import socket
import ssl
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeAlias

import pytest

from .programs import HANG, HOST

#: What it does with a connection, once it has heard the request.
Reply: TypeAlias = Callable[[socket.socket, bytes], None]

#: Seconds between two pieces of what drips.
DRIP = 0.2

# Closing a socket with it sends RST in place of FIN.
_ABORT = struct.pack("ii", 1, 0)

_LENGTH = re.compile(rb"(?i)\r\ncontent-length: ([0-9]+)\r\n")


class OddServer:
    """A server that does the same with each connection."""

    def __init__(
        self, reply: Reply, certificate: Path | None = None, *, is_hasty: bool = False
    ) -> None:
        self.connections = 0
        self.requests: list[bytes] = []
        self._reply = reply
        self._is_hasty = is_hasty
        self._tls = None
        if certificate is not None:
            self._tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            self._tls.load_cert_chain(certificate)
        self._threads: list[threading.Thread] = []
        self._listener = socket.create_server((HOST, 0), backlog=128)
        self.port: int = self._listener.getsockname()[1]
        self._run(self._accept)

    @property
    def url(self) -> str:
        """Its root, without TLS."""
        return f"http://{HOST}:{self.port}/"

    def close(self) -> None:
        # Closing alone would not wake the thread that accepts.
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for thread in self._threads:
            thread.join(HANG)

    def _run(self, function: Callable[..., None], *arguments: object) -> None:
        thread = threading.Thread(target=function, args=arguments, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            self.connections += 1
            self._run(self._serve, client)

    def _serve(self, client: socket.socket) -> None:
        client.settimeout(HANG)
        # Clients that go while it speaks are what it is for.
        with client, contextlib.suppress(OSError):
            if self._tls is not None:
                client = self._tls.wrap_socket(client, server_side=True)
            with client:
                request = client.recv(1_024) if self._is_hasty else hear(client)
                self.requests.append(request)
                self._reply(client, request)


def hear(client: socket.socket) -> bytes:
    """Return a request with its body; raise ConnectionError where it ends early."""
    heard = b""
    while not _is_whole(heard):
        piece = client.recv(65_536)
        if not piece:
            raise ConnectionAbortedError
        heard += piece
    return heard


def _is_whole(request: bytes) -> bool:
    head, end, body = request.partition(b"\r\n\r\n")
    found = _LENGTH.search(head + end)
    return bool(end) and len(body) >= (int(found[1]) if found else 0)


class Taken:
    """Counts the bytes that this process reads into buffers, as clients of HTTP do."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.bytes = 0
        for kind in (socket.socket, ssl.SSLSocket):
            monkeypatch.setattr(kind, "recv_into", self._counting(kind.recv_into))

    def _counting(self, real: Callable[..., int]) -> Callable[..., int]:
        def recv_into(*arguments: object) -> int:
            count = real(*arguments)
            self.bytes += count
            return count

        return recv_into


@contextmanager
def start_odd(
    reply: Reply, certificate: Path | None = None, *, is_hasty: bool = False
) -> Iterator[OddServer]:
    """Run a server for the time of a ``with`` block.

    Args:
        reply: what it does.
        certificate: a file of a certificate and its key, to speak TLS.
        is_hasty: whether it replies to the first bytes that it hears.
    """
    server = OddServer(reply, certificate, is_hasty=is_hasty)
    try:
        yield server
    finally:
        server.close()


def answer(
    status: str = "200 OK", body: bytes = b"", *headers: str, length: int | None = None
) -> bytes:
    """Return the bytes of an answer, with whatever Content-Length it shall have."""
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {length or len(body)}", *headers]
    return "\r\n".join([*lines, "", ""]).encode() + body


def says(data: bytes) -> Reply:
    return lambda client, _: client.sendall(data)


def echoes(before: bytes = b"", after: bytes = b"") -> Reply:
    """Say what was heard, between other things."""
    return lambda client, request: client.sendall(before + request + after)


def drips(begin: bytes, piece: bytes = b"x") -> Reply:
    """Say something, and then a little more again and again until the client goes."""

    def reply(client: socket.socket, request: bytes) -> None:
        client.sendall(begin)
        pause = threading.Event()
        while not pause.wait(DRIP):
            client.sendall(piece)

    return reply


def stays_silent(client: socket.socket, request: bytes) -> None:
    """Say nothing until the client goes."""
    client.recv(1)


def resets(client: socket.socket, request: bytes) -> None:
    client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _ABORT)
