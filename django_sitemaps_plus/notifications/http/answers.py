"""What engines answer, and what that means."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any
from urllib.parse import urlsplit

from django.utils.http import parse_http_date_safe

from django_sitemaps_plus.exceptions import BatchRejected, EngineRefused, RetryLater

#: Bytes of a body that are kept.
MAX_BODY = 65_536

#: Bytes of an answer that are read, with interim ones before it, its headers, and what
#: is between chunks of its body.
MAX_ANSWER = 2 * MAX_BODY

#: Seconds that an engine can make us wait: a day.
MAX_RETRY_AFTER = 86_400

# Characters that people are shown of what an engine says.
_MAX_TEXT = 300

# What may be otherwise in a while; the rest of 4xx will not (RFC 9110 section 15.5).
_LATER = {408, 425, 429}

# Not a matter of the URLs told: key, account, address or method are wrong.
_REFUSED = {401, 403, 404, 405, 410, 422}


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What came back.

    Attributes:
        status: of HTTP.
        body: its first 64 KiB as they came: a content coding is not undone.
        retry_after: seconds that it asks to wait, at most a day; None where it says
            nothing, or nothing that can be understood.
        redirect_host: to which host it points, where it does.
    """

    status: int
    body: bytes = field(default=b"", repr=False)
    retry_after: float | None = None
    redirect_host: str = ""

    def json(self) -> Any:
        """Return the body's value; None where it is no JSON."""
        try:
            return json.loads(self.body, parse_constant=_refuse)
        except (ValueError, RecursionError):
            return None

    @property
    def text(self) -> str:
        """The body's first 300 characters on one line, for people to read."""
        return readable(self.body)


def readable(data: bytes) -> str:
    """Return what a stranger wrote as a line of at most 300 printable characters."""
    text = data[: _MAX_TEXT * 8].decode("utf-8", "replace")
    printable = "".join([c if c.isprintable() else " " for c in text])
    return " ".join(printable.split())[:_MAX_TEXT]


def accepted(answer: Answer) -> Answer:
    """Return an answer that says yes.

    Raises:
        RetryLater: of 408, 425, 429 and 5xx.
        EngineRefused: of redirects, 401, 403, 404, 405, 410 and 422.
        BatchRejected: of any other 4xx.
    """
    status = answer.status
    if 200 <= status < 300:
        return answer
    words = _describe(answer)
    if status in _LATER or not 300 <= status < 500:
        raise RetryLater(words, answer.retry_after)
    if status in _REFUSED or status < 400:
        raise EngineRefused(words)
    raise BatchRejected(words)


def parse_retry_after(value: str | None) -> float | None:
    """Return the seconds that a Retry-After says (RFC 9110 section 10.2.3).

    Returns:
        From 0 to a day; None where it is neither seconds nor a date.
    """
    value = (value or "").strip()
    if value.isascii() and value.isdecimal():
        return min(float(value), MAX_RETRY_AFTER)
    date = parse_http_date_safe(value)
    if date is None:
        return None
    return min(max(date - time.time(), 0.0), MAX_RETRY_AFTER)


def redirect_host(location: str | None) -> str:
    """Return the host to which a Location points; empty where it names none."""
    try:
        host = urlsplit(location or "").hostname or ""
    except ValueError:
        return ""
    return readable(host.encode("utf-8", "replace"))


def _describe(answer: Answer) -> str:
    try:
        phrase = f"{answer.status} {HTTPStatus(answer.status).phrase}"
    except ValueError:
        phrase = str(answer.status)
    if 300 <= answer.status < 400:
        where = answer.redirect_host or "another path"
        return f"It answered {phrase} and points to {where}; give the address itself."
    said = f": {answer.text}" if answer.text else " and said no more."
    return f"It answered {phrase}{said}"


def _refuse(constant: str) -> None:
    # NaN and Infinity, which databases do not take as JSON.
    raise ValueError(constant)
