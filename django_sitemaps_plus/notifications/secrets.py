"""Keys and tokens that do not show unless revealed."""

from __future__ import annotations

import html
import json
import traceback
from typing import NoReturn
from urllib.parse import quote, quote_plus

#: The text that replaces a secret.
HIDDEN = "***"


class Secret:
    """A string that shows as ``***`` and cannot be pickled or dumped as JSON.

    Keep it wrapped: :func:`django_sitemaps_plus.notifications.http.request` takes it as
    it is, and reveals it only in the thread that sends the request.

    Raises:
        TypeError: the value is not a string.
    """

    __slots__ = ("_value",)

    def __init__(self, value: str) -> None:
        if not isinstance(value, str):
            raise TypeError(f"A secret must be a string, not {type(value).__name__}")
        self._value = value

    def reveal(self) -> str:
        """Return the string itself; use it at once, and store it nowhere."""
        return self._value

    def hide_in(self, text: bytes) -> bytes:
        """Return a text with ``***`` in place of this secret, raw or encoded."""
        # In an Authorization header the part after the scheme is secret as well.
        credentials = self._value.partition(" ")[2]
        for value in filter(None, (self._value, credentials)):
            # An environment variable that is not UTF-8 has surrogates.
            data = value.encode("utf-8", "surrogatepass")
            forms = {data, html.escape(value).encode("utf-8", "surrogatepass")}
            forms |= {quote(data, safe="").encode(), quote(data).encode()}
            forms |= {quote_plus(data).encode(), json.dumps(value)[1:-1].encode()}
            for form in sorted(forms, key=len, reverse=True):
                text = text.replace(form, HIDDEN.encode())
        return text

    def __repr__(self) -> str:
        return HIDDEN

    def __deepcopy__(self, memo: object = None) -> Secret:
        # Settings that hold a secret can be copied.
        return self

    __copy__ = __deepcopy__

    def __reduce__(self) -> NoReturn:
        raise TypeError("A secret cannot be pickled")


def without_text(error: BaseException) -> str:
    """Return the class of an error and its lines, for a log: the text may be secret."""
    lines = traceback.format_tb(error.__traceback__)
    return f"{type(error).__name__}\n{''.join(lines)}"
