"""Answers of engines, and what they mean: accepted, try later, refused, rejected."""

from __future__ import annotations

import http.client
import json
import time
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from django.utils.http import parse_http_date_safe

from django_sitemaps_plus.exceptions import BatchRejected, EngineRefused, RetryLater

#: Bytes of a body that are read.
MAX_BODY = 65_536

#: The longest wait that an engine can ask for, in seconds: a day.
MAX_RETRY_AFTER = 86_400

# Characters of an engine's text that are kept for people to read.
_MAX_TEXT = 300

# Statuses worth another try; the rest of 4xx is not (RFC 9110 section 15.5).
_LATER = {408, 425, 429}

# Statuses that blame the key, the account, the address or the method, and no URL.
_REFUSED = {401, 403, 404, 405, 410, 422}


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The answer to one request."""

    status: int
    #: Its first 64 KiB as received: a content coding is not undone.
    body: bytes = field(default=b"", repr=False)
    retry_after: float | None = None  # seconds, at most a day
    redirect_host: str = ""  # that a redirect points to, if it names one

    def json(self) -> dict[str, Any]:
        """Return the body's object; an empty one where it is not an object of JSON."""
        try:
            value = json.loads(self.body)
        except (ValueError, RecursionError):
            return {}
        return value if isinstance(value, dict) else {}

    @property
    def text(self) -> str:
        """The beginning of the body as one printable line of at most 300 characters."""
        return readable(self.body)


def readable(data: bytes) -> str:
    """Return untrusted bytes as one line of at most 300 printable characters."""
    text = data[: _MAX_TEXT * 8].decode("utf-8", "replace")
    printable = "".join([c if c.isprintable() else " " for c in text])
    return " ".join(printable.split())[:_MAX_TEXT]


def accepted(answer: Answer) -> Answer:
    """Return an answer with a 2xx status.

    Raises:
        RetryLater: for 408, 425, 429 and 5xx.
        EngineRefused: for redirects, 401, 403, 404, 405, 410 and 422.
        BatchRejected: for any other 4xx.
    """
    status = answer.status
    if 200 <= status < 300:
        return answer
    reason = f"It answered {status} {http.client.responses.get(status, '')}".strip()
    if 300 <= status < 400:
        where = answer.redirect_host or "another path"
        reason += f" and redirects to {where}. Set that as the URL."
    else:
        reason += f": {answer.text or '(no text)'}"
    if status in _LATER or not 300 <= status < 500:
        raise RetryLater(reason, answer.retry_after)
    if status in _REFUSED or status < 400:
        raise EngineRefused(reason)
    raise BatchRejected(reason)


def parse_retry_after(value: str | None) -> float | None:
    """Return the seconds of a Retry-After header, from 0 to a day; None if invalid."""
    value = (value or "").strip()
    if value.isascii() and value.isdecimal():
        return min(float(value), MAX_RETRY_AFTER)
    date = parse_http_date_safe(value)
    if date is None:
        return None
    return min(max(date - time.time(), 0.0), MAX_RETRY_AFTER)


def redirect_host(location: str) -> str:
    """Return the host of a Location header; empty where it names none."""
    try:
        return readable((urlsplit(location).hostname or "").encode("utf-8", "replace"))
    except ValueError:
        return ""
