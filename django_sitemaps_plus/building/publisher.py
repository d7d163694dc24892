"""Setting the pointers: what is built becomes what is served."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from django.db import transaction
from django.db.models import F
from django.utils import timezone

from django_sitemaps_plus.core.dates import parse_w3c
from django_sitemaps_plus.exceptions import SupersededError
from django_sitemaps_plus.models import Page, Section

from .page import BuiltPage

#: Fields of a page row that a flip may write.
_FIELDS = [
    "low",
    "high",
    "object",
    "entries",
    "skipped",
    "dropped",
    "plain_size",
    "gzip_size",
    "plain_hash",
    "gzip_hash",
    "lastmod",
    "published_at",
]


def flip(section: Section, built: Iterable[BuiltPage]) -> int:
    """Point the pages of a section to what was built, all at once.

    Args:
        section: the row as it was read before the build; its version is the fence.
        built: every page of the section.

    Returns:
        How many pages have changed.

    Raises:
        SupersededError: another build of the section has published since.
    """
    now = timezone.now()
    with transaction.atomic():
        mine = Section.objects.filter(pk=section.pk, version=section.version)
        if not mine.update(version=F("version") + 1):
            raise SupersededError(f"{section}: another build has published meanwhile")
        return _write(section, {page.number: page for page in built}, now)


def _write(section: Section, built: dict[int, BuiltPage], now: datetime) -> int:
    rows = {page.number: page for page in section.pages.all()}
    new = [
        Page(section=section, number=number) for number in built.keys() - rows.keys()
    ]
    changed = []
    for row in rows.values():
        if row.number in built and _point(row, built[row.number], now):
            changed.append(row)
    for row in new:
        _point(row, built[row.number], now)
    gone = section.pages.filter(number__in=rows.keys() - built.keys())
    removed, _ = gone.delete()
    Page.objects.bulk_update(changed, _FIELDS, batch_size=200)
    Page.objects.bulk_create(new, batch_size=500)
    return len(changed) + len(new) + removed


def _point(row: Page, page: BuiltPage, now: datetime) -> bool:
    """Put what was built into a row; return whether anything is new in it."""
    before = [getattr(row, name) for name in _FIELDS]
    if page.plain_hash != row.plain_hash:
        row.lastmod = _lastmod(row, page.newest, now)
        row.published_at = now
        row.object = ""
        for name in ("plain_size", "gzip_size", "plain_hash", "gzip_hash"):
            setattr(row, name, getattr(page, name))
    if page.object:
        row.object, row.gzip_hash, row.gzip_size = (
            page.object,
            page.gzip_hash,
            page.gzip_size,
        )
    row.low, row.high = page.key_range.low, page.key_range.high
    for name in ("entries", "skipped", "dropped"):
        setattr(row, name, getattr(page, name))
    return before != [getattr(row, name) for name in _FIELDS]


def _lastmod(row: Page, newest: str, now: datetime) -> datetime | None:
    """Return what the index says of a page whose bytes have changed.

    It is the newest lastmod of the entries where that rose, else the time at which
    the change was noticed. The first time nobody knows when a page without dates
    changed, so nothing is said. It never falls, and is never in the future.
    """
    moment = min(parse_w3c(newest), now) if newest else None
    if row.lastmod is None and not row.plain_hash:
        return moment
    if moment is not None and (row.lastmod is None or moment > row.lastmod):
        return moment
    return now
