"""Connections of urllib3 to one address, which log nothing that they send or hear."""

from __future__ import annotations

import http.client
import io
import socket
from typing import TYPE_CHECKING

from urllib3.connection import HTTPConnection, HTTPSConnection

from .addresses import Endpoint
from .answers import MAX_ANSWER

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer


class _Bounded(io.RawIOBase):
    """What a server says, as long as it is no more than an answer may be."""

    def __init__(self, raw: io.RawIOBase) -> None:
        self._raw = raw
        self._left = MAX_ANSWER

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer) -> int | None:
        if not self._left:
            raise http.client.HTTPException(f"no complete answer in {MAX_ANSWER} bytes")
        count = self._raw.readinto(memoryview(buffer)[: self._left])
        self._left -= count or 0
        return count

    def close(self) -> None:
        self._raw.close()
        super().close()


class _Response(http.client.HTTPResponse):
    # By itself it counts headers, of 64 KiB each, and neither interim answers nor what
    # is between chunks and after them.
    def __init__(
        self,
        sock: socket.socket,
        debuglevel: int = 0,
        method: str | None = None,
        url: str | None = None,
    ) -> None:
        super().__init__(sock, debuglevel, method, url)
        self.fp = io.BufferedReader(_Bounded(self.fp.detach()))


def new_connection(
    endpoint: Endpoint, address: str, timeout_seconds: float
) -> HTTPConnection:
    """Return a connection, not yet open, to an address of a host.

    The address is a number already, so nobody is asked for it again. A certificate
    must be of the host, and is checked against the system's authorities.
    """
    if endpoint.scheme == "http":
        connection = HTTPConnection(address, endpoint.port, timeout=timeout_seconds)
    else:
        connection = HTTPSConnection(
            address,
            endpoint.port,
            timeout=timeout_seconds,
            server_hostname=endpoint.host,
            cert_reqs="CERT_REQUIRED",
        )
    # One line in a project can make all connections print what they send.
    connection.set_debuglevel(0)
    connection.response_class = _Response
    return connection


def hear(connection: HTTPConnection) -> http.client.HTTPResponse:
    """Return the answer to what was sent, its body still unread.

    Raises:
        HTTPException: it is none, or its headers have no end in MAX_ANSWER bytes.
    """
    # urllib3's own logs headers that it cannot read, and the URL that was asked.
    return http.client.HTTPConnection.getresponse(connection)


def read(response: http.client.HTTPResponse, max_bytes: int) -> bytes:
    """Return the beginning of a body as it came.

    Raises:
        IncompleteRead: it ends earlier than the answer said.
        HTTPException: with all around it, it takes more than MAX_ANSWER bytes.
    """
    body = b""
    # Not read(), which takes a chunk of a negative size for one without an end;
    # read1() gives a little more than asked for of it.
    while len(body) < max_bytes:
        piece = response.read1(max_bytes - len(body))
        if not piece:
            break
        body += piece
    if response.length and len(body) < max_bytes:
        raise http.client.IncompleteRead(body, response.length)
    return body[:max_bytes]
