"""Pages that are not built: rendered on request, once for all who ask at a time."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable

from django_sitemaps_plus.conf import Site, get_settings
from django_sitemaps_plus.core.compression import Document
from django_sitemaps_plus.registry import registry

from .cached import first_to, forget, recall, remember

#: Gzipped bytes of a page above which it is not kept.
MAX_BYTES = 1_000_000

#: Seconds for which others wait for who renders a page; then they render it too.
MAX_WAIT = 2.0

_POLL = 0.02

Render = Callable[[], Document | None]


def shared(section: str, number: int, site: Site, render: Render) -> Document | None:
    """Return a page that is kept, or render and keep it.

    Of many requests for a page at once, one renders it, and the others wait for what
    it keeps.

    Args:
        section: its name.
        number: of the page.
        site: the site.
        render: what renders it; None is not kept.
    """
    seconds = get_settings().live_ttl
    if not seconds:
        return render()
    key = _key(section, number, site)
    document = _parse(recall(key))
    if document is not None:
        return document
    is_mine = first_to(f"{key}:busy", 30)
    if not is_mine:
        document, is_mine = _wait(key)
        if document is not None:
            return document
    try:
        document = render()
        if document is not None and len(document.gzip) < MAX_BYTES:
            remember(key, _format(document), seconds)
        return document
    finally:
        if is_mine:
            forget(f"{key}:busy")


def _wait(key: str) -> tuple[Document | None, bool]:
    """Return what another has rendered, and whether it is our turn to do so."""
    end = time.monotonic() + MAX_WAIT
    while time.monotonic() < end:
        document = _parse(recall(key))
        if document is not None:
            return document, False
        if first_to(f"{key}:busy", 30):
            return None, True  # its renderer has given up
        time.sleep(_POLL)
    return None, False


def _key(section: str, number: int, site: Site) -> str:
    parts = (site, repr(registry.get(section)))
    digest = hashlib.sha256(repr(parts).encode()).hexdigest()[:24]
    return f"page:{section}:{number}:{digest}"


def _format(document: Document) -> bytes:
    head = [document.gzip_hash, document.plain_hash, document.plain_size]
    return json.dumps(head).encode() + b"\n" + document.gzip


def _parse(data: bytes | None) -> Document | None:
    if data is None:
        return None
    head, _, gzip = data.partition(b"\n")
    gzip_hash, plain_hash, plain_size = json.loads(head)
    return Document(
        gzip=gzip, gzip_hash=gzip_hash, plain_hash=plain_hash, plain_size=plain_size
    )
