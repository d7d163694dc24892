"""A prune, and the time that it waits for."""

from __future__ import annotations

from datetime import timedelta

from django.db.models.functions import Now
from django.utils import timezone

from django_sitemaps_plus.conf import get_site
from django_sitemaps_plus.maintenance.prune import PruneReport, prune
from django_sitemaps_plus.models import (
    Leftover,
    Page,
    State,
)
from tests.support.published import files

DAYS = timedelta(days=2)


def run() -> PruneReport:
    """Prune the site."""
    return prune(get_site())


def pass_days() -> None:
    """Let two days pass for everything that a prune waits for."""
    Leftover.objects.update(noticed_at=Now() - DAYS)
    old = timezone.now() - DAYS
    Page.objects.filter(state=State.RETIRED).update(retired_at=old)


def objects() -> set[str]:
    """Return the names of the objects of products that lie in the storage."""
    return {name for name in files() if name.startswith("products/")}


def pointed() -> set[str]:
    """Return the objects that pages of products point to."""
    pages = Page.objects.filter(section__name="products").exclude(object="")
    return set(pages.values_list("object", flat=True))
