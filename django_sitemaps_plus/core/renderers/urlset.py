"""The ``<urlset>``: the entries of one page, one a line."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from django_sitemaps_plus.core.xml import prolog

from .extensions import NAMESPACES

_ROOT = '<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"{}>\n'
_TAIL = b"</urlset>\n"


def render_urlset(
    chunks: Iterable[str], extensions: Collection[str] = (), stylesheet: str = ""
) -> Iterator[bytes]:
    """Yield the bytes of a urlset, from chunks of whole lines of entries.

    The namespaces of extensions that may occur, those of ``NAMESPACES``, are declared
    once, on the root. Browsers show it by a stylesheet.
    """
    declared = [kind for kind in NAMESPACES if kind in extensions]
    namespaces = [f' xmlns:{kind}="{NAMESPACES[kind]}"' for kind in declared]
    yield (prolog(stylesheet) + _ROOT.format("".join(namespaces))).encode()
    for chunk in chunks:
        yield chunk.encode()
    yield _TAIL
