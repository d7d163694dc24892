"""What is sent to an engine, with its secrets hidden until then."""

from __future__ import annotations

import importlib.metadata
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

from django_sitemaps_plus.exceptions import EngineRefused
from django_sitemaps_plus.notifications.secrets import Secret

from .addresses import Endpoint

_DISTRIBUTION = "django-sitemaps-plus"


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """A request as an engine gives it; ``request()`` says what its parts are."""

    method: str
    url: str = field(repr=False)
    json: Any
    form: Sequence[tuple[str, str | Secret]]
    text: str | None
    query: Mapping[str, str | Secret]
    headers: Mapping[str, str | Secret]


class Revealed:
    """The bytes of a message; only the thread that sends them may see it.

    Attributes:
        target: path and query.
        headers: all but the length of the body, and Accept-Encoding, which is
            ``identity`` unless told.
        body: None where it has none.
        secrets: those that the message holds.
    """

    def __init__(self, message: Message, endpoint: Endpoint) -> None:
        self.secrets: list[Secret] = []
        self.target = self._target(message, endpoint)
        kind, self.body = self._body(message)
        self.headers = {
            "Host": endpoint.authority,
            "User-Agent": _user_agent(),
            "Connection": "close",
            **({"Content-Type": kind} if kind else {}),
            **{name: self._header(name, v) for name, v in message.headers.items()},
        }

    def hide(self, text: bytes) -> bytes:
        """Return a text of the other side without our secrets."""
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

    def _target(self, message: Message, endpoint: Endpoint) -> str:
        if not message.query:
            return endpoint.path
        pairs = [(name, self._reveal(value)) for name, value in message.query.items()]
        sign = "&" if "?" in endpoint.path else "?"
        return f"{endpoint.path}{sign}{urlencode(pairs)}"

    def _body(self, message: Message) -> tuple[str, bytes | None]:
        if message.json is not None:
            encoded = json.dumps(message.json, default=self._reveal)
            return "application/json; charset=utf-8", encoded.encode()
        if message.form:
            pairs = [(name, self._reveal(value)) for name, value in message.form]
            return "application/x-www-form-urlencoded", urlencode(pairs).encode()
        if message.text is not None:
            return "text/plain; charset=utf-8", message.text.encode()
        return "", None

    def _header(self, name: str, value: str | Secret) -> str:
        revealed = self._reveal(value)
        if not (revealed.isascii() and revealed.isprintable()):
            raise EngineRefused(
                f"What is to be sent as {name} has a line break, or another character "
                "that no header can hold."
            )
        return revealed


def _user_agent() -> str:
    try:
        return f"{_DISTRIBUTION}/{importlib.metadata.version(_DISTRIBUTION)}"
    except importlib.metadata.PackageNotFoundError:  # copied and not installed
        return _DISTRIBUTION
