"""Pages that are not built: rendered on request, once for all who ask at a time."""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Callable
from concurrent.futures import Future
from functools import partial
from typing import TypeAlias

from django_sitemaps_plus.conf import Site, get_settings
from django_sitemaps_plus.core.compression import Document
from django_sitemaps_plus.leases import Lease
from django_sitemaps_plus.models import INDEX
from django_sitemaps_plus.registry import registry

from .cached import first_to, forget, recall, remember, still

#: Gzipped bytes of a page above which it is not kept.
MAX_BYTES = 1_000_000

#: Seconds for which others wait for who renders a page; then they render it too.
MAX_WAIT = 2.0

#: Seconds without a sign of life from who renders a page, after which a second process
#: may render it too.
BUSY_SECONDS = 1

_POLL = 0.02

#: What a render is to call for each chunk of rows.
Alive = Callable[[], object]
Render = Callable[[Alive], Document | None]
Flight: TypeAlias = "Future[Document | None]"

#: What threads of this process render now, by key.
_flights: dict[str, Flight] = {}
if hasattr(os, "register_at_fork"):
    # What a thread of the parent renders never ends in the child.
    os.register_at_fork(after_in_child=_flights.clear)


def shared(
    section: str, number: int, site: Site, render: Render, version: int = 0
) -> Document | None:
    """Return a page that is kept, or render and keep it.

    Of many requests for a page at once, one renders it, and the others wait for what
    it keeps.

    Args:
        section: its name.
        number: of the page.
        site: the site.
        render: what renders it, and tells that it is at work; None is not kept.
        version: what it is rendered from; what was kept of another is not taken.
    """
    seconds = get_settings().live_ttl
    if not seconds:
        return render(bool)
    key = _key(section, number, site, version)
    document = _parse(recall(key))
    if document is not None:
        return document
    mine: Flight = Future()
    flight = _flights.setdefault(key, mine)
    if flight is not mine:
        return _land(flight, render)
    try:
        mine.set_result(document := _lead(key, render, seconds))
    except BaseException as error:
        mine.set_exception(error)
        raise
    finally:
        _flights.pop(key, None)
    return document


def _land(flight: Flight, render: Render) -> Document | None:
    """Return what another thread of this process renders, or else render it."""
    try:
        return flight.result(MAX_WAIT)
    except TimeoutError:
        return render(bool)


def _lead(key: str, render: Render, seconds: int) -> Document | None:
    """Render a page, unless another is faster."""
    busy = f"{key}:busy"
    document, is_mine = _turn(key, busy)
    try:
        if document is not None:
            return document
        lease = Lease(partial(still, busy, BUSY_SECONDS), BUSY_SECONDS)
        document = render(lease if is_mine else bool)
        if document is not None and len(document.gzip) < MAX_BYTES:
            remember(key, _format(document), seconds)
        return document
    finally:
        if is_mine:
            forget(busy)


def _turn(key: str, busy: str) -> tuple[Document | None, bool]:
    """Return what another has rendered, and whether it is for us to say we are done."""
    end = time.monotonic() + MAX_WAIT
    is_mine = first_to(busy, BUSY_SECONDS)
    # Asked only then: whoever rendered it has kept it before it let others try.
    document = _parse(recall(key))
    while document is None and not is_mine and time.monotonic() < end:
        time.sleep(_POLL)
        is_mine = first_to(busy, BUSY_SECONDS)  # it has given up, died, or takes long
        document = _parse(recall(key))
    return document, is_mine


def _key(section: str, number: int, site: Site, version: int) -> str:
    made_of = list(registry) if section == INDEX else registry.get(section)
    parts = (site, made_of, version)
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
