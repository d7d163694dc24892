"""The ``<urlset>``: the entries of one page, one a line."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from django_sitemaps_plus.core.entries import Entry, format_priority
from django_sitemaps_plus.core.xml import escape

from .extensions import NAMESPACES, extension_elements

_HEAD = (
    '<?xml version="1.0" encoding="UTF-8"?>\n'
    '<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"{}>\n'
)
_TAIL = b"</urlset>\n"


def url_line(
    loc: str,
    lastmod: str | None = None,
    changefreq: str | None = None,
    priority: str | None = None,
    extensions: str = "",
) -> str:
    """Return one ``<url>`` and its line end, from texts that are checked.

    The URL is encoded, but not yet escaped; extensions are XML of other namespaces.
    """
    line = f"<url><loc>{escape(loc)}</loc>"
    if lastmod is not None:
        line += f"<lastmod>{lastmod}</lastmod>"
    if changefreq is not None:
        line += f"<changefreq>{changefreq}</changefreq>"
    if priority is not None:
        line += f"<priority>{priority}</priority>"
    return f"{line}{extensions}</url>\n"


def entry_line(entry: Entry) -> str:
    """Return the ``<url>`` of an entry and its line end."""
    return url_line(
        entry.loc,
        entry.lastmod_text,
        entry.changefreq,
        None if entry.priority is None else format_priority(entry.priority),
        extension_elements(entry.images, entry.videos, entry.news, entry.alternates),
    )


def render_urlset(
    chunks: Iterable[str], extensions: Collection[str] = ()
) -> Iterator[bytes]:
    """Yield the bytes of a urlset, from chunks of whole lines of :func:`url_line`.

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
