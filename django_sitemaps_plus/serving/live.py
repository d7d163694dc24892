"""Pages that are not built: rendered on request, once for all who ask at a time."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable

from django_sitemaps_plus.conf import Site, get_settings
from django_sitemaps_plus.core.gzip import Document
from django_sitemaps_plus.models import INDEX
from django_sitemaps_plus.registry import registry

from .single_flight import Kept, once

#: Gzipped bytes of a page above which it is not kept.
MAX_BYTES = 1_000_000


def shared(
    section: str,
    number: int,
    site: Site,
    render: Callable[[], Document | None],
    version: int = 0,
) -> Document | None:
    """Return a page that is kept, or render and keep it.

    Of many requests for a page at once, one renders it, and the others wait for what
    it keeps.

    Args:
        section: its name.
        number: of the page.
        site: the site.
        render: what renders it; None is not kept.
        version: what it is rendered from; what was kept of another is not taken.
    """
    key = _key(section, number, site, version)
    kept = Kept(key, get_settings().live_cache_seconds, _format, _parse)
    return once(kept, render)


def _key(section: str, number: int, site: Site, version: int) -> str:
    made_of = list(registry) if section == INDEX else registry.get(section)
    parts = (site, made_of, version)
    digest = hashlib.sha256(repr(parts).encode()).hexdigest()[:24]
    return f"page:{section}:{number}:{digest}"


def _format(document: Document | None) -> bytes | None:
    if document is None or len(document.gzip) >= MAX_BYTES:
        return None
    head = [document.gzip_hash, document.plain_hash, document.plain_size]
    return json.dumps(head).encode() + b"\n" + document.gzip


def _parse(data: bytes) -> Document | None:
    head, _, gzip = data.partition(b"\n")
    gzip_hash, plain_hash, plain_size = json.loads(head)
    return Document(
        gzip=gzip, gzip_hash=gzip_hash, plain_hash=plain_hash, plain_size=plain_size
    )
