"""Merges: two small neighbours become one page."""

from __future__ import annotations

from collections.abc import Collection

from django.db import transaction
from django.db.models import F
from django.utils import timezone

from django_sitemaps_plus.building.flip import (
    Flip,
    add_totals,
    pointer,
    record_flips,
    send_page_built,
)
from django_sitemaps_plus.building.store import build_page
from django_sitemaps_plus.conf import get_settings
from django_sitemaps_plus.core.key_ranges import may_merge
from django_sitemaps_plus.core.limits import LimitExceededError
from django_sitemaps_plus.models import Page, State, own_alias
from django_sitemaps_plus.models.base import atomic, retried
from django_sitemaps_plus.publishing.sync import show_when_committed
from django_sitemaps_plus.section import OpenSection

from .replan import raise_plan_version
from .split import with_end


def merge_small(section: OpenSection, candidates: Collection[int]) -> bool:
    """Merge built pages with neighbours where one page will do; return if any is dirty.

    That is what others were merged into, and those that have lost rows unnoticed.
    """
    reader, active = section.reader, section.row.pages.active()
    if reader.has_own_paging:
        return False  # a bound is the number of a page, so no range has two
    limit = reader.rows_per_page  # not of entries, since rows may lack languages
    small = active.filter(built__gt=0, entries__lt=limit // 2)
    rows = small.values_list("low", "high", "pk", "entries", "plain_size")
    by_low = {row[0]: row for row in rows.order_by("pk")}

    pairs, max_bytes = [], get_settings().max_bytes
    for _, high, pk, entries, size in by_low.values():
        if high is None or high not in by_low:
            continue
        _, _, other, more, more_size = by_low[high]
        is_small = may_merge(entries + more, size + more_size, limit, max_bytes)
        if is_small and (pk in candidates or other in candidates):
            pairs.append((pk, other))

    for pair in pairs:
        pages = active.with_section().in_bulk(pair)
        a, b = [pages.get(pk) for pk in pair]
        # Either may have been cut or merged since it was looked at.
        if a and b and a.high == b.low:
            merge(a, b, section)
    return bool(pairs) and section.row.pages.claimable().exists()


def merge(a: Page, b: Page, section: OpenSection) -> bool:
    """Let a page take in the next one; return whether it could."""
    if not Page.objects.claim_clean(a):
        return False
    try:
        return Page.objects.claim_clean(b) and _merge_claimed(a, b, section)
    except LimitExceededError:
        return False
    finally:
        Page.objects.release([a, b])


@retried
def _merge_claimed(a: Page, b: Page, section: OpenSection) -> bool:
    with Page.objects.keep_claims([a, b]):
        new = build_page(with_end(a, b.high), section)
    is_less = new.entries < a.entries + b.entries
    if is_less or new.skipped > a.skipped + b.skipped:
        # Not noticed so far. Each is built by itself, so that the guard looks at it.
        Page.objects.raise_wanted(False, pages=[a.pk, b.pk])
        return False
    now = timezone.now()
    with atomic():
        raise_plan_version(a.section)
        # A page that was merged into another meanwhile can be claimed still.
        active = Page.objects.filter(state=State.ACTIVE)
        kept = active.filter(pk=a.pk, token=a.token, built=a.built)
        gone = active.filter(pk=b.pk, token=b.token, built=b.built)
        fields = pointer(a, new, now)
        fields |= {"high": b.high, "wanted": F("wanted") + 1}
        retired = {"state": State.RETIRED, "retired_at": now}
        is_done = bool(kept.update(**fields) and gone.update(**retired))
        if is_done:
            flips = [Flip(a, [a, b], [new])]
            add_totals(flips)
            record_flips(flips)
            show_when_committed([a])
        else:
            transaction.set_rollback(True, using=own_alias())
    if is_done and new.is_changed:
        send_page_built(a, new.entries)
    return is_done
