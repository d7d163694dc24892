"""Damaged objects that views have found; noted in the cache for the next build.

No request of a crawler writes to the database. The audit finds what the cache loses.
"""

from __future__ import annotations

from django_sitemaps_plus.cache import forget, recall, remember

from .pages import Page

_KEY = "damaged"
_SECONDS = 7 * 86_400

#: Pages that are noted at once.
MAX_NOTED = 500


def note_damaged(page: Page) -> None:
    """Note that the object of a page cannot be served."""
    noted = damaged_pages()
    if page.pk not in noted and len(noted) < MAX_NOTED:
        remember(_KEY, noted | {page.pk}, _SECONDS)


def damaged_pages() -> frozenset[int]:
    """Return the primary keys of the pages that were noted."""
    return recall(_KEY, frozenset) or frozenset()


def forget_damaged() -> None:
    """Forget them all, once they are dealt with."""
    forget(_KEY)
