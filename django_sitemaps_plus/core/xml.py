"""Text for XML 1.0 documents, and for lines of a log or a terminal."""

from __future__ import annotations

import re

# XML 1.0 (5th edition), production 2: all others may appear, escaped or not. To compile
# what they are takes ten times as long.
_ILLEGAL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")

# Control characters, line separators and lone surrogates break a log, or a database
# does not take them; marks of direction turn the words around them.
_UNPRINTABLE = re.compile(
    r"[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)


def printable(text: str) -> str:
    """Return a text with what cannot be shown in a line escaped."""
    return _UNPRINTABLE.sub(lambda it: it[0].encode("unicode_escape").decode(), text)


def drop_illegal(text: str) -> str:
    """Return the text without the characters that XML 1.0 forbids in any form."""
    return _ILLEGAL.sub("", text)


def written(text: str) -> str:
    """Return what an entry has of a text: in one line, as each entry has its own."""
    return drop_illegal(" ".join(text.splitlines()))


def escape(text: str) -> str:
    """Return the text as XML character data, also for attributes.

    Characters that XML cannot express are dropped; the five special ones are escaped.
    """
    text = drop_illegal(text).replace("&", "&amp;")
    text = text.replace("<", "&lt;").replace(">", "&gt;")
    return text.replace('"', "&quot;").replace("'", "&apos;")


def prolog(stylesheet: str = "") -> str:
    """Return what precedes the root: the declaration, and the URL of a CSS file."""
    declaration = '<?xml version="1.0" encoding="UTF-8"?>\n'
    if not stylesheet:
        return declaration
    href = escape(stylesheet)
    return f'{declaration}<?xml-stylesheet type="text/css" href="{href}"?>\n'
