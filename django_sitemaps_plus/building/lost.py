"""Objects that a view found missing or damaged, until the next build repairs them."""

from __future__ import annotations

import logging
from contextlib import suppress

from django.db.models import F

from django_sitemaps_plus.exceptions import StoreError
from django_sitemaps_plus.models import Page
from django_sitemaps_plus.models.damage import damaged_pages, forget_damaged
from django_sitemaps_plus.models.transactions import update_pages
from django_sitemaps_plus.storage import delete_object, is_intact, open_object

logger = logging.getLogger(__name__)


def mark_lost() -> int:
    """Make the pages that views have noted dirty, so that they are stored again.

    Returns:
        How many of them really have no good object.
    """
    noted = damaged_pages()
    if not noted:
        return 0
    lost = [page for page in Page.objects.filter(pk__in=noted) if _is_lost(page)]
    rows = Page.objects.filter(pk__in=[page.pk for page in lost])
    sections = [page.section_id for page in lost]
    update_pages(rows, sections, wanted=F("wanted") + 1)
    forget_damaged()
    return len(lost)


def _is_lost(page: Page) -> bool:
    if not page.object:
        return False
    try:
        data = open_object(page.object)
    except StoreError as error:
        logger.error("%s is stored again, if it is gone: %s", page, error)
        return True
    if is_intact(data, page.gzip_hash):
        return False
    logger.error("%s is stored again: %s is damaged", page, page.object)
    with suppress(StoreError):
        delete_object(page.object)  # else its name would pass for a good one
    return True
