"""Keys and tokens, which never show what they are unless asked to."""

from __future__ import annotations

import hmac
import html
import json
import traceback
from typing import NoReturn
from urllib.parse import quote, quote_plus

from django_sitemaps_plus.exceptions import ConfigurationError

#: What stands in the place of a secret.
HIDDEN = "***"


class Secret:
    """A string that shows itself as ``***``, and can be neither pickled nor dumped.

    A copy of one is the secret itself, so that settings which hold it can be copied.

    Keep it as it is in attributes, arguments and variables: the requests of
    :mod:`django_sitemaps_plus.notifications.http` take it, and reveal it themselves.
    """

    __slots__ = ("_value",)

    def __init__(self, value: str) -> None:
        self._value = value

    @classmethod
    def of(cls, value: object, option: str = "A key or token") -> Secret:
        """Return the secret that an option of an engine holds.

        Args:
            value: a string, or a secret already.
            option: what people call it, for the error.

        Raises:
            ConfigurationError: it is no string, or an empty one.
        """
        if isinstance(value, Secret):
            return value
        if not isinstance(value, str):
            kind = type(value).__name__
            raise ConfigurationError(f"{option} is {kind}; give it as a string.")
        if not value.strip():
            raise ConfigurationError(
                f"{option} is empty. Is the environment variable set that it comes "
                "from?"
            )
        return cls(value)

    def reveal(self) -> str:
        """Return the string itself; use it at once, and keep it nowhere."""
        return self._value

    def hide_in(self, text: bytes) -> bytes:
        """Return a text that a stranger wrote, with ``***`` wherever this stands in it.

        Servers quote in their answers what they were sent, as it is or encoded.
        """
        # Of an authorization header what follows the scheme is secret as well.
        credentials = self._value.partition(" ")[2]
        for value in filter(None, (self._value, credentials)):
            for form in sorted(_forms(value), key=len, reverse=True):
                text = text.replace(form, HIDDEN.encode())
        return text

    def __repr__(self) -> str:
        return HIDDEN

    def __format__(self, specification: str) -> str:
        return HIDDEN

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Secret):
            return NotImplemented
        # As long as it takes whatever they have in common.
        return hmac.compare_digest(_encode(self._value), _encode(other._value))

    def __copy__(self) -> Secret:
        return self

    def __deepcopy__(self, memo: dict[int, object]) -> Secret:
        return self

    def __reduce__(self) -> NoReturn:
        raise TypeError("A secret cannot be pickled")


def _forms(value: str) -> set[bytes]:
    data = _encode(value)
    quoted = {quote(data, safe="").encode(), quote(data).encode()}
    escaped = {json.dumps(value)[1:-1].encode(), _encode(html.escape(value))}
    return {data, quote_plus(data).encode(), *quoted, *escaped}


def _encode(value: str) -> bytes:
    # An environment variable that is no UTF-8 gives surrogates.
    return value.encode("utf-8", "surrogatepass")


def without_text(error: BaseException) -> str:
    """Return for a log what an error is, and where it was raised.

    Its text may quote what is secret, and so may the values that its traceback leads
    to, which tools that collect errors show.
    """
    lines = traceback.format_tb(error.__traceback__)
    return f"{type(error).__name__}\n{''.join(lines)}"
