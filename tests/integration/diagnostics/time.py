"""A prune, and the time that it waits for."""

from __future__ import annotations

import os
from datetime import timedelta
from pathlib import Path

from django.conf import settings
from django.db.models import F
from django.utils import timezone

from django_sitemaps_plus.models import Page, State
from django_sitemaps_plus.publishing.prune import PruneReport, prune
from django_sitemaps_plus.sites import get_site
from tests.support.published import files

#: Longer than anything waits.
DAYS = timedelta(days=3)


def run() -> PruneReport:
    """Prune the site."""
    return prune(get_site())


def pass_time(time: timedelta = DAYS) -> None:
    """Let all pages and files be older."""
    Page.objects.update(
        published_at=F("published_at") - time, retired_at=F("retired_at") - time
    )
    shifted = set()
    for path in (Path(settings.MEDIA_ROOT) / "sitemaps").rglob("*.xml*"):
        found = path.stat()
        if path.is_file() and found.st_ino not in shifted:  # names are links
            shifted.add(found.st_ino)
            moment = found.st_mtime_ns - int(time.total_seconds() * 1e9)
            os.utime(path, ns=(moment, moment))


def retire_third_page() -> None:
    """Let a page of each section have been retired long ago."""
    Page.objects.filter(number=3).update(
        state=State.RETIRED, retired_at=timezone.now() - DAYS
    )


def objects() -> set[str]:
    """Return the names of the objects of products that lie in the storage."""
    return {name for name in files() if "/products/" in name}


def pointed() -> set[str]:
    """Return the objects that pages of products point to."""
    pages = Page.objects.filter(section__name="products").exclude(object="")
    return set(pages.values_list("object", flat=True))
