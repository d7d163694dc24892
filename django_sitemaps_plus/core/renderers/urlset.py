"""The ``<urlset>``: the entries of one page, one a line."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from .extensions import NAMESPACES

_HEAD = (
    '<?xml version="1.0" encoding="UTF-8"?>\n'
    '<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"{}>\n'
)
_TAIL = b"</urlset>\n"


def render_urlset(
    chunks: Iterable[str], extensions: Collection[str] = ()
) -> Iterator[bytes]:
    """Yield the bytes of a urlset, from chunks of whole lines of entries.

    The namespaces of extensions that may occur (``image``, ``video``, ``news``,
    ``xhtml``) are declared once, on the root.
    """
    declared = [kind for kind in NAMESPACES if kind in extensions]
    yield _HEAD.format(
        "".join([f' xmlns:{kind}="{NAMESPACES[kind]}"' for kind in declared])
    ).encode()
    for chunk in chunks:
        yield chunk.encode()
    yield _TAIL
