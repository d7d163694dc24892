"""The audit: pages that nobody has compared for long are rendered, and compared."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from datetime import timedelta
from typing import Any

from django.db.models import F, QuerySet
from django.db.models.functions import Now
from django.utils import timezone

from django_sitemaps_plus.conf import get_settings
from django_sitemaps_plus.models import Page
from django_sitemaps_plus.models.prepared import fetch
from django_sitemaps_plus.models.transactions import update_pages
from django_sitemaps_plus.tracking.locating import raise_wanted

#: Pages that an audit marks at once, before it looks at the clock.
AUDIT_PAGES = 64


def mark_unchecked(sections: Collection[int]) -> bool:
    """Make the pages dirty that were not compared for AUDIT_INTERVAL_SECONDS.

    Returns:
        Whether there were any.
    """
    age = get_settings().audit_interval_seconds
    pages = dict(fetch(_unchecked, tuple(sections), age, AUDIT_PAGES))
    if pages:
        rows = Page.objects.filter(pk__in=pages)
        update_pages(rows, pages.values(), wanted=F("wanted") + 1)
    return bool(pages)


def mark_old(indexes: Iterable[Page]) -> bool:
    """Make indexes dirty that were not compared for longer than AUDIT_INTERVAL_SECONDS.

    Their objects may be lost, where nobody has told this process of it.

    Returns:
        Whether there were any.
    """
    since = timezone.now() - timedelta(seconds=get_settings().audit_interval_seconds)
    old = [i.pk for i in indexes if i.checked_at is not None and i.checked_at < since]
    raise_wanted(old)
    return bool(old)


def _unchecked(
    sections: tuple[int, ...], seconds: int, limit: int
) -> QuerySet[Page, Any]:
    old = Page.objects.filter(checked_at__lt=Now() - timedelta(seconds=seconds))
    # Not by is_dirty=0, for the reason that active() gives.
    due = old.filter(section__in=sections).active().exclude(is_dirty=1)
    return due.order_by("checked_at").values_list("pk", "section_id")[:limit]
