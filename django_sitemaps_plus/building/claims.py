"""Claims: who is at work on which page.

A claim only saves work. What keeps an old result from replacing a newer one is the
flip, which asks for the claim's token again.
"""

from __future__ import annotations

import secrets
from collections.abc import Collection
from datetime import datetime

from django.db.models import F, Q
from django.db.models.functions import Now

from django_sitemaps_plus.models import LEASE, Page

#: Pages that are claimed, rendered and flipped together: one transaction and one
#: flush of each directory for all of them.
BATCH_PAGES = 8


def claim(
    sections: Collection[int],
    *,
    since: datetime | None = None,
    without: Collection[int] = (),
    limit: int = BATCH_PAGES,
) -> list[Page]:
    """Take up to ``limit`` dirty pages to work on; none where nothing is left to do.

    Two statements in autocommit, the same on every database: candidates are read, then
    taken if they are still free. Whoever loses a race against another builder tries
    the next ones.

    Args:
        sections: primary keys of the sections to work for.
        since: earlier claims are taken over, as :meth:`PageQuerySet.claimable` says.
        without: primary keys of pages to leave alone.
        limit: how many pages at most.
    """
    free = Page.objects.claimable(since).filter(section__in=sections)
    free = free.exclude(pk__in=without).order_by("id") if without else free
    token = secrets.token_hex(16)
    while pages := list(free.select_related("section").order_by("id")[:limit]):
        taken = free.filter(pk__in=[page.pk for page in pages]).update(
            token=token, claimed_at=Now(), attempts=F("attempts") + 1
        )
        if taken < len(pages):
            pages = list(Page.objects.filter(token=token).select_related("section"))
        if pages:
            for page in pages:
                page.token = token
            return pages
    return []


def claim_page(page: Page) -> bool:
    """Take one page that is not dirty, in order to change its range."""
    token = secrets.token_hex(16)
    given_up = Q(token="") | Q(claimed_at__lt=Now() - LEASE)
    quiet = Page.objects.filter(given_up, pk=page.pk, wanted=page.built)
    same = quiet.filter(built=page.built, low=page.low, high=page.high)
    page.token = token
    return bool(same.update(token=token, claimed_at=Now()))


def give_back(page: Page) -> None:
    """End a claim without a result, and without blame."""
    mine = Page.objects.filter(pk=page.pk, token=page.token)
    mine.update(token="", claimed_at=None)


def release(pages: Collection[Page], error: str = "", *, counts: bool = True) -> None:
    """Give up pages that could not be built; they stay dirty.

    Args:
        pages: as they were claimed.
        error: why, in words.
        counts: whether it is the page's own fault, so that it is parked in the end.
            Such a page keeps the time of its claim: no other process of the same
            build tries it again.
    """
    for page in pages:
        mine = Page.objects.filter(pk=page.pk, token=page.token)
        if counts:
            mine.update(token="", error=error[:2_000])
        else:
            mine.update(token="", claimed_at=None, attempts=F("attempts") - 1)


def is_anybody_busy(sections: Collection[int], without: Collection[int] = ()) -> bool:
    """Return whether somebody else is at work on dirty pages of these sections."""
    alive = Page.objects.dirty().filter(claimed_at__gte=Now() - LEASE)
    busy = alive.filter(section__in=sections).exclude(token="")
    return busy.exclude(pk__in=without).exists()


def renew(pages: Collection[Page]) -> None:
    """Begin the lease of claims anew, before another page of the batch is rendered."""
    for token in {page.token for page in pages}:
        Page.objects.filter(token=token).update(claimed_at=Now())
