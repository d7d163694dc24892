"""Text that may stand in an XML 1.0 document."""

from __future__ import annotations

import re

# XML 1.0 (5th edition), production 2: everything but these may appear, escaped or not.
_ILLEGAL = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def drop_illegal(text: str) -> str:
    """Return the text without the characters that XML 1.0 forbids in any form."""
    return _ILLEGAL.sub("", text)


def escape(text: str) -> str:
    """Return the text as XML character data, fit for attributes too.

    Characters that XML cannot express are dropped, since not even a numeric
    reference may name them. The five special ones are escaped as the sitemap
    protocol asks.
    """
    text = drop_illegal(text).replace("&", "&amp;")
    text = text.replace("<", "&lt;").replace(">", "&gt;")
    return text.replace('"', "&quot;").replace("'", "&apos;")
