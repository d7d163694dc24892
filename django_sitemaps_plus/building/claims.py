"""Claims: which process works on which page.

A claim only saves work. What keeps an old result from replacing a newer one is the
flip, which asks for the claim's token again.
"""

from __future__ import annotations

import secrets
from collections.abc import Collection
from contextlib import AbstractContextManager
from datetime import datetime
from functools import partial
from typing import Any

from django.db.models import F, Q
from django.db.models.functions import Greatest, Now

from django_sitemaps_plus.conf import get_settings
from django_sitemaps_plus.models import Page, PageQuerySet
from django_sitemaps_plus.models.lease import keep
from django_sitemaps_plus.models.transactions import retried

#: Pages that are claimed, rendered and flipped together: one transaction and one
#: flush of each directory for all of them.
BATCH_PAGES = 8


@retried
def claim(
    sections: Collection[int],
    *,
    since: datetime | None = None,
    limit: int = BATCH_PAGES,
) -> list[Page]:
    """Take up to ``limit`` dirty pages to work on; none where nothing is left to do.

    Two statements in autocommit, the same on every database: candidates are read, then
    taken if they are still free. A builder that loses a race against another tries the
    next ones. A page that was claimed in vain before is taken alone: if it kills its
    builder, it brings no other page nearer to being parked. Claims made before `since`
    are taken over, as :meth:`PageQuerySet.claimable` says.
    """
    free = (tuple(sections), get_settings().lease)
    earlier: dict[str, Any] = {} if since is None else {"since": since}
    token = secrets.token_hex(16)
    while pages := _candidates(Page.objects.free(*free, limit, **earlier)):
        keys = [page.pk for page in pages]
        taken = Page.objects.taken(*free, pages=keys, token=token, **earlier)
        if taken < len(pages):
            pages = Page.objects.with_token(token=token)
        if pages:
            for page in pages:
                page.token = token
            return pages
    return []


def _candidates(pages: list[Page]) -> list[Page]:
    return [page for page in pages if not page.attempts] or pages[:1]


@retried
def claim_page(page: Page) -> bool:
    """Take one page that is not dirty, in order to change its range."""
    token = secrets.token_hex(16)
    given_up = Q(token="") | Q(claimed_at__lt=Now() - get_settings().lease)
    quiet = Page.objects.filter(given_up, pk=page.pk, wanted=page.built)
    same = quiet.filter(built=page.built, low=page.low, high=page.high)
    page.token = token
    return bool(same.update(token=token, claimed_at=Now()))


@retried
def release(
    pages: Collection[Page], error: str = "", *, is_to_blame: bool = False
) -> None:
    """Give up pages, which stay dirty.

    Args:
        pages: as they were claimed.
        error: why they could not be built. They keep the time of their claim then, so
            that no process of the same build tries them again.
        is_to_blame: whether the attempt counts, so that a page is parked in the end.
    """
    fields: dict[str, Any] = {"error": error[:2_000]} if error else {"claimed_at": None}
    if not is_to_blame:
        # A deploy may have set the attempts to 0 meanwhile.
        fields["attempts"] = Greatest(F("attempts"), 1) - 1
    for page in pages:
        # By the token too, since another may have taken it over.
        mine = Page.objects.filter(pk=page.pk, token=page.token)
        mine.update(token="", **fields)


def is_being_built(sections: Collection[int]) -> bool:
    """Return whether other processes are at work on dirty pages of sections."""
    return _at_work().filter(section__in=sections).exists()


def count_builders(site: str, names: Collection[str]) -> int:
    """Return how many builders are at work on dirty pages of sections of a site."""
    pages = _at_work().filter(section__site=site, section__name__in=names)
    # Each is at one batch of pages, all with one token.
    return pages.values("token").distinct().count()


def _at_work() -> PageQuerySet:
    alive = Page.objects.dirty().filter(claimed_at__gte=Now() - get_settings().lease)
    return alive.exclude(token="")


@retried
def renew(pages: Collection[Page]) -> None:
    """Begin the lease of claims anew."""
    for token in {page.token for page in pages}:
        Page.objects.filter(token=token).update(claimed_at=Now())


def keep_claims(pages: Collection[Page]) -> AbstractContextManager[None]:
    """Keep the lease of pages, as they were claimed, at each heartbeat."""
    return keep(partial(renew, pages))
