"""One request in a thread of its own, which its caller can leave at any time."""

from __future__ import annotations

import contextlib
import logging
import socket
import time
from http.client import HTTPException
from threading import Thread

from urllib3.connection import HTTPConnection
from urllib3.exceptions import HTTPError

from django_sitemaps_plus.exceptions import EngineError, EngineRefused, RetryLater
from django_sitemaps_plus.notifications.secrets import without_text

from .addresses import Endpoint, find_addresses, parse_endpoint
from .answers import (
    MAX_BODY,
    Answer,
    parse_retry_after,
    readable,
    redirect_host,
)
from .connections import hear, new_connection, read
from .messages import Message, Revealed

logger = logging.getLogger(__name__)

# Addresses of a host that are tried.
_MAX_ADDRESSES = 3

_OF_THE_NETWORK = (OSError, HTTPException, HTTPError)


class Attempt(Thread):
    """Asks once.

    A time limit of a socket begins anew with each byte, and the look-up of a name has
    none at all: so the one who asks waits for this thread no longer than it wants. And
    secrets are revealed here only, so that no traceback of the caller leads to them.

    Attributes:
        host: who is asked; words for it until that is known.
        outcome: the answer, or the error to raise; None until there is one.
    """

    def __init__(self, message: Message, seconds: float) -> None:
        super().__init__(name="sitemaps-plus-http", daemon=True)
        self.host = "The engine"
        self.outcome: Answer | Exception | None = None
        self._message = message
        self._seconds = seconds
        self._deadline = time.monotonic() + seconds
        self._is_given_up = False
        self._connection: HTTPConnection | None = None
        self._socket: socket.socket | None = None
        self._revealed: Revealed | None = None

    def run(self) -> None:
        """Ask, and leave the outcome; never raises."""
        try:
            self.outcome = self._ask()
        except BaseException as error:  # noqa: BLE001 - the caller raises it
            self.outcome = self._failure(error)
        finally:
            if self._connection is not None:
                self._connection.close()

    def too_late(self) -> RetryLater:
        """Return the error for who has waited long enough."""
        return RetryLater(
            f"{self.host} gave no complete answer in {self._seconds:g} seconds."
        )

    def give_up(self) -> None:
        """Break the connection, if there still is one, so that the thread ends soon."""
        self._is_given_up = True
        if self._socket is not None:
            with contextlib.suppress(OSError):
                # As of any socket: that of TLS may not be used by two threads.
                socket.socket.shutdown(self._socket, socket.SHUT_RDWR)

    def _ask(self) -> Answer:
        endpoint = parse_endpoint(self._message.url)
        self.host = endpoint.host
        connection = self._connect(endpoint)
        self._revealed = revealed = Revealed(self._message, endpoint)
        # A server that has heard enough may answer and close before it is told all.
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            connection.request(
                self._message.method,
                revealed.target,
                body=revealed.body,
                headers=revealed.headers,
            )
        with hear(connection) as response:
            body = read(response, MAX_BODY)
        headers = response.headers
        location = revealed.hide(headers.get("Location", "").encode("utf-8", "replace"))
        return Answer(
            status=response.status,
            body=revealed.hide(body),
            retry_after=parse_retry_after(headers.get("Retry-After")),
            redirect_host=redirect_host(location.decode()),
        )

    def _connect(self, endpoint: Endpoint) -> HTTPConnection:
        """Return an open connection to the first address that takes one."""
        addresses = find_addresses(endpoint)[:_MAX_ADDRESSES]
        while True:
            seconds = self._seconds_left() / len(addresses)
            connection = new_connection(endpoint, addresses.pop(0), seconds)
            self._connection = connection
            try:
                connection.connect()
            except _OF_THE_NETWORK:
                connection.close()
                if not addresses:
                    raise
            else:
                # The connection forgets it before the answer is read.
                self._socket = connection.sock
                connection.timeout = self._seconds_left()
                return connection

    def _seconds_left(self) -> float:
        """Return the seconds until nobody waits any more.

        Raises:
            TimeoutError: nobody does.
        """
        left = self._deadline - time.monotonic()
        if self._is_given_up or left <= 0:
            raise TimeoutError
        return left

    def _failure(self, error: BaseException) -> Exception:
        """Return what to raise: nothing of it leads to a value of this thread."""
        if isinstance(error, EngineError):
            error.__context__ = error.__cause__ = None
            return error.with_traceback(None)
        if isinstance(error, TimeoutError):
            return self.too_late()
        kind = type(error).__name__
        if isinstance(error, _OF_THE_NETWORK):
            text = str(error).encode("utf-8", "replace")
            words = readable(self._revealed.hide(text) if self._revealed else text)
            return RetryLater(f"{self.host} could not be asked: {words or kind}")
        logger.error(
            "A request to an engine could not be made: %s",
            without_text(error),
            extra={"action": "request_failed"},
        )
        return EngineRefused(f"The request could not be made: {kind}. See the log.")
