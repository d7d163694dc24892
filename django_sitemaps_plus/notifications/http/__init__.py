"""HTTP to engines: the only part of this app that opens sockets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from django_sitemaps_plus.exceptions import ConfigurationError, RetryLater
from django_sitemaps_plus.notifications.secrets import Secret

from .answers import MAX_BODY, MAX_RETRY_AFTER, Answer, accepted
from .messages import Message

__all__ = [
    "MAX_BODY",
    "MAX_RETRY_AFTER",
    "MAX_SECONDS",
    "Answer",
    "accepted",
    "request",
]

#: Seconds that a request takes at most, from the question for an address to the last
#: byte; a little under 10, which is what we promise.
MAX_SECONDS = 9.5


def request(
    method: str,
    url: str,
    *,
    json: Any = None,
    form: Sequence[tuple[str, str | Secret]] | None = None,
    text: str | None = None,
    query: Mapping[str, str | Secret] | None = None,
    headers: Mapping[str, str | Secret] | None = None,
) -> Answer:
    """Ask a server once, and return what it answers.

    Only https is spoken, and only to public addresses; with loopback http too. The
    addresses of a name are looked up once, all of them are checked, and they are tried
    in turn until one takes the connection. Redirects are not followed, proxies of the
    environment are not used, and neither cookies nor retries are known.

    No secret is in an error, or in what follows from it: where one stands in an answer,
    ``***`` does.

    Args:
        method: ``GET``, ``POST`` or another in capitals.
        url: without secrets and credentials.
        json: a body of JSON; a string in it may be a Secret.
        form: a body as of an HTML form.
        text: a body of plain text.
        query: is encoded and added to the URL.
        headers: others than those that say what the body is.

    Raises:
        RetryLater: no complete answer came in time, or in as many bytes as are read.
        EngineRefused: the URL, or an address of its host, may not be asked.
        ConfigurationError: urllib3 is not installed.
    """
    message = Message(
        method=method,
        url=url,
        json=json,
        form=form or (),
        text=text,
        query=query or {},
        headers=headers or {},
    )
    outcome = _outcome(message)
    if isinstance(outcome, Answer):
        return outcome
    # Raised here, where all that its traceback leads to is hidden.
    raise outcome


def _outcome(message: Message) -> Answer | Exception:
    try:
        from .attempts import Attempt
    except ImportError as error:
        raise ConfigurationError(
            "Engines are told with urllib3, which is not installed. Install "
            "django-sitemaps-plus[engines]."
        ) from error
    attempt = Attempt(message, MAX_SECONDS)
    try:
        attempt.start()
    except RuntimeError:  # no more threads, or Python is shutting down
        return RetryLater("There was no thread to ask it in.")
    try:
        attempt.join(MAX_SECONDS)
        return attempt.outcome or attempt.too_late()
    finally:
        attempt.give_up()
