"""The stored index, and the sections in it that are no longer registered."""

from __future__ import annotations

import logging
from contextlib import suppress

from django.db import Error
from django.db.models import F, Max
from django.utils import timezone

from django_sitemaps_plus.core.documents import render_index
from django_sitemaps_plus.core.gzip import write_document
from django_sitemaps_plus.models import INDEX, Page, Section, State
from django_sitemaps_plus.models.pages import listed_pages
from django_sitemaps_plus.models.sections import MISSING_GRACE
from django_sitemaps_plus.registry import registry
from django_sitemaps_plus.site_urls import index_lines, stylesheet_url
from django_sitemaps_plus.sites import get_site
from django_sitemaps_plus.sources import Tally

from .store import BuiltPage, store_page

logger = logging.getLogger(__name__)


def build_index_page(page: Page) -> BuiltPage:
    """Render an index from the page rows, and store it where it has changed."""
    site = get_site()
    listed, _ = listed_pages(site.name, registry, page.number, is_live=False)
    lines = index_lines(site, listed)
    pieces = render_index(lines, stylesheet_url(site))
    document = write_document(pieces) if lines else None
    return store_page(page, document, Tally(INDEX, entries=len(lines)))


def may_publish_index() -> bool:
    """Return whether a first index would name every registered section.

    Until each page was built once, the index is rendered live, which names them all. A
    published index follows its sections, even while a new one awaits its build.
    """
    sections = Section.objects.filter(site=get_site().name, name__in=list(registry))
    planned = sections.filter(pages__isnull=False).distinct().count()
    unbuilt = Page.objects.filter(section__in=sections, built=0, state=State.ACTIVE)
    return planned == len(registry) and not unbuilt.exists()


def note_failure(error: Exception) -> None:
    """Let the status say why a build failed: pages that are flipped do not say it."""
    with suppress(Error):
        indexes = Page.objects.of(get_site().name, INDEX)
        indexes.update(error=str(error), wanted=F("wanted") + 1)


def note_missing() -> list[str]:
    """Note since when sections with pages are not registered; return their names."""
    site = get_site()
    rows = Section.objects.unregistered(site.name, tuple(registry))
    names = [name for (name,) in rows]
    if not names:
        return []
    fresh = Section.objects.filter(site=site.name, name__in=names, missing_since=None)
    if fresh.update(missing_since=timezone.now()):
        logger.error(
            "No longer registered, so they leave the index in 24 hours: %s",
            ", ".join([f"section {name!r}" for name in names]),
            extra={"action": "section_missing"},
        )
    # Have the index rendered again without sections that are missing too long.
    past = timezone.now() - MISSING_GRACE
    gone = Section.objects.filter(site=site.name, missing_since__lte=past)
    last = gone.aggregate(last=Max("missing_since"))["last"]
    if last is not None:
        indexes = Page.objects.of(site.name, INDEX)
        before = indexes.filter(checked_at__lt=last + MISSING_GRACE)
        before.update(wanted=F("wanted") + 1)
    return names
