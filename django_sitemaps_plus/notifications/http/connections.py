"""Connections of urllib3 to one address, which log nothing that they send or hear."""

from __future__ import annotations

import http.client

from urllib3.connection import HTTPConnection, HTTPSConnection

from .addresses import Endpoint


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
    return connection


def hear(connection: HTTPConnection) -> http.client.HTTPResponse:
    """Return the answer to what was sent, its body still unread."""
    # urllib3's own logs headers that it cannot read, and the URL that was asked.
    return http.client.HTTPConnection.getresponse(connection)


def read(response: http.client.HTTPResponse, max_bytes: int) -> bytes:
    """Return the beginning of a body as it came.

    Raises:
        IncompleteRead: it ends earlier than the answer said.
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
