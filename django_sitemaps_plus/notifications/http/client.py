"""An HTTPS request to an engine: bounded in time and size, without leaking secrets."""

from __future__ import annotations

import http.client
import json as json_module
import logging
import socket
import ssl
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field
from threading import Thread
from typing import Any
from urllib.parse import urlencode

from django_sitemaps_plus.exceptions import EngineError, EngineRefused, RetryLater
from django_sitemaps_plus.notifications.secrets import Secret, without_text

from .addresses import Endpoint, find_addresses, parse_endpoint
from .answers import MAX_BODY, Answer, parse_retry_after, readable, redirect_host

logger = logging.getLogger(__name__)

#: Seconds for a whole request, from the DNS look-up to the last byte; we promise 10.
MAX_SECONDS = 9.5

# A final status, since what follows it is another protocol than HTTP.
_SWITCHING_PROTOCOLS = 101

# Addresses of a host that are tried.
_MAX_ADDRESSES = 3

_NETWORK_ERRORS = (OSError, http.client.HTTPException)


def request(
    method: str,
    url: str,
    *,
    json: Any = None,
    form: Sequence[tuple[str, str | Secret]] = (),
    text: str | None = None,
    query: Mapping[str, str | Secret] | None = None,
    headers: Mapping[str, str | Secret] | None = None,
) -> Answer:
    """Send one request and return the answer, whatever its status.

    Only https to public addresses is allowed; to loopback http too. Redirects are not
    followed; proxies, cookies and retries are not used. No secret appears in an error
    or its traceback, and ``***`` replaces those that the answer quotes.

    Args:
        method: ``GET``, ``POST`` or another in capitals.
        url: without secrets or credentials.
        json: a JSON body; strings in it may be secrets.
        form: a body as of an HTML form.
        text: a plain text body.
        query: is encoded and added to the URL.
        headers: in addition to those that describe the body.

    Raises:
        RetryLater: no complete answer arrived in time.
        EngineRefused: the URL or an address of its host is not allowed.
    """
    message = _Message(method, url, json, form, text, query or {}, headers or {})
    exchange = _Exchange(message)
    try:
        exchange.start()
    except RuntimeError:  # no more threads, or Python is shutting down
        raise RetryLater("No thread could be started for the request.") from None
    try:
        exchange.join(MAX_SECONDS)
        outcome = exchange.outcome or exchange.too_late()
    finally:
        exchange.give_up()
    if isinstance(outcome, Answer):
        return outcome
    # This frame raises, since it knows secrets only in wrapped form.
    raise outcome


@dataclass(slots=True)
class _Message:
    """A request as an engine gives it; only :meth:`reveal` unwraps its secrets."""

    method: str
    url: str = field(repr=False)
    json: Any
    form: Sequence[tuple[str, str | Secret]]
    text: str | None
    query: Mapping[str, str | Secret]
    headers: Mapping[str, str | Secret]
    secrets: list[Secret] = field(default_factory=list)

    def reveal(self, endpoint: Endpoint) -> tuple[str, bytes | None, dict[str, str]]:
        """Return target, body and headers; for the thread that sends them alone."""
        target = endpoint.path
        if self.query:
            sign = "&" if "?" in target else "?"
            target += sign + self._encoded(self.query.items())
        headers = {
            "Host": endpoint.authority,
            "User-Agent": "django-sitemaps-plus",
            "Connection": "close",
        }
        body = None
        if self.json is not None:
            headers["Content-Type"] = "application/json; charset=utf-8"
            body = json_module.dumps(self.json, default=self._reveal).encode()
        elif self.form:
            headers["Content-Type"] = "application/x-www-form-urlencoded"
            body = self._encoded(self.form).encode()
        elif self.text is not None:
            headers["Content-Type"] = "text/plain; charset=utf-8"
            body = self.text.encode()
        for name, value in self.headers.items():
            headers[name] = self._reveal(value)
            if not (headers[name].isascii() and headers[name].isprintable()):
                raise EngineRefused(
                    f"The value of the header {name} has a line break, or a character "
                    "outside printable ASCII."
                )
        return target, body, headers

    def hide(self, text: bytes) -> bytes:
        """Return what the other side said, with ``***`` for each revealed secret."""
        for secret in self.secrets:
            text = secret.hide_in(text)
        return text

    def _reveal(self, value: str | Secret) -> str:
        if isinstance(value, str):
            return value
        if not isinstance(value, Secret):
            raise TypeError(f"{type(value).__name__} cannot be sent")
        self.secrets.append(value)
        return value.reveal()

    def _encoded(self, pairs: Iterable[tuple[str, str | Secret]]) -> str:
        return urlencode([(name, self._reveal(value)) for name, value in pairs])


class _Exchange(Thread):
    """A request in a thread of its own, which the caller can leave at any time.

    A socket's timeout starts again with each byte, and a DNS look-up has none. Secrets
    are revealed in this thread only, so that no traceback of the caller leads to them.
    """

    def __init__(self, message: _Message) -> None:
        super().__init__(name="sitemaps-plus-http", daemon=True)
        self.outcome: Answer | Exception | None = None  # an error is to be raised
        self._message = message
        self._server = "The engine"
        self._deadline = time.monotonic() + MAX_SECONDS
        self._socket: socket.socket | None = None

    def run(self) -> None:
        """Send the request and keep the outcome; never raises."""
        try:
            self.outcome = self._ask()
        except BaseException as error:  # noqa: BLE001 - the caller raises it
            self.outcome = self._failure(error)

    def too_late(self) -> RetryLater:
        """Return the error for a request that took too long."""
        words = f"gave no complete answer in {MAX_SECONDS:g} seconds."
        return RetryLater(f"{self._server} {words}")

    def give_up(self) -> None:
        """Break the connection, if it is still open, so that the thread ends soon."""
        self._deadline = 0.0
        if self._socket is not None:
            with suppress(OSError):
                # TLS's own shutdown is not for two threads at once.
                socket.socket.shutdown(self._socket, socket.SHUT_RDWR)

    def _ask(self) -> Answer:
        endpoint = parse_endpoint(self._message.url)
        self._server = f"{endpoint.scheme}://{endpoint.authority}"
        with closing(self._connect(endpoint)) as connection:
            message = self._message
            target, body, headers = message.reveal(endpoint)
            # A server may answer and close before it has read the whole request.
            with suppress(BrokenPipeError, ConnectionResetError):
                connection.request(message.method, target, body=body, headers=headers)
            with final_response(connection) as response:
                answered = read_body(response)
        location = response.headers.get("Location", "").encode("utf-8", "replace")
        return Answer(
            status=response.status,
            body=message.hide(answered),
            retry_after=parse_retry_after(response.headers.get("Retry-After")),
            redirect_host=redirect_host(message.hide(location).decode()),
        )

    def _connect(self, endpoint: Endpoint) -> http.client.HTTPConnection:
        """Return an open connection to the first address that accepts one."""
        addresses = find_addresses(endpoint)[:_MAX_ADDRESSES]
        while True:
            seconds = self._seconds_left() / len(addresses)
            try:
                connection = open_connection(endpoint, addresses.pop(0), seconds)
            except _NETWORK_ERRORS:
                if not addresses:
                    raise
            else:
                # http.client drops its reference before the body is read.
                self._socket = connection.sock
                connection.sock.settimeout(self._seconds_left())
                return connection

    def _seconds_left(self) -> float:
        left = self._deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError
        return left

    def _failure(self, error: BaseException) -> Exception:
        """Return what to raise, with nothing in it that leads into this thread."""
        if isinstance(error, EngineError):
            error.__context__ = error.__cause__ = None
            return error.with_traceback(None)
        if isinstance(error, TimeoutError):
            return self.too_late()
        kind = type(error).__name__
        if isinstance(error, _NETWORK_ERRORS):
            text = str(error).encode("utf-8", "replace")
            reason = readable(self._message.hide(text)) or kind
            return RetryLater(f"{self._server} could not be reached: {reason}")
        words = "A request to an engine could not be made: %s"
        logger.error(words, without_text(error), extra={"action": "request_failed"})
        return EngineRefused(f"The request could not be made: {kind}. See the log.")


def open_connection(
    endpoint: Endpoint, address: str, timeout_seconds: float
) -> http.client.HTTPConnection:
    """Return an open connection to a checked address of an endpoint.

    With https the certificate must be valid for the endpoint's host.
    """
    opened = socket.create_connection((address, endpoint.port), timeout_seconds)
    opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    if endpoint.scheme == "https":
        context = ssl.create_default_context()
        host = endpoint.host.rstrip(".")  # certificates have no final dot
        opened = context.wrap_socket(opened, server_hostname=host)
    connection = http.client.HTTPConnection(endpoint.host, endpoint.port)
    connection.sock = opened
    connection.auto_open = False
    # A project can have all connections print what they send.
    connection.set_debuglevel(0)
    return connection


def final_response(connection: http.client.HTTPConnection) -> http.client.HTTPResponse:
    """Return the response after interim ones, of which http.client skips 100 only."""
    response = connection.getresponse()
    while 100 <= response.status < 200 and response.status != _SWITCHING_PROTOCOLS:
        response.headers = None  # type: ignore[assignment] # begin() reads none else
        response.begin()
    return response


def read_body(response: http.client.HTTPResponse) -> bytes:
    """Return at most the first 64 KiB of a body; a content coding is not undone."""
    body = b""
    # HTTPResponse.read() takes a chunk of a negative size for one without an end.
    while len(body) < MAX_BODY and (piece := response.read1(MAX_BODY - len(body))):
        body += piece
    if response.length and len(body) < MAX_BODY:
        raise http.client.IncompleteRead(body, response.length)
    return body[:MAX_BODY]
