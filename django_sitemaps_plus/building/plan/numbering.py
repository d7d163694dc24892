"""Numbering: a new page gets an unused number and a position in an index."""

from __future__ import annotations

from collections.abc import Sequence

from django.db.models import F

from django_sitemaps_plus.conf import get_settings
from django_sitemaps_plus.core.key_ranges import KeyRange, as_number
from django_sitemaps_plus.core.limits import HISTORIC_SITEMAPS, MAX_ENTRIES
from django_sitemaps_plus.models import INDEX, Page, Section

#: Pages that are inserted by one statement.
BATCH_PAGES = 100


def add_pages(
    section: Section, ranges: Sequence[KeyRange], **fields: object
) -> list[Page]:
    """Make new pages for key ranges, inside a transaction of the caller's."""
    number = _take_numbers(section, len(ranges))
    position = _take_positions(section, len(ranges))
    pages = [
        Page(
            section=section,
            number=number + i,
            index_position=position + i,
            low=bounds.low,
            low_number=as_number(bounds.low),
            high=bounds.high,
            **fields,
        )
        for i, bounds in enumerate(ranges)
    ]
    return Page.objects.bulk_create(pages, batch_size=BATCH_PAGES)


def _take_numbers(section: Section, total: int) -> int:
    """Count numbers of a section as used, and return the first of them."""
    rows = Section.objects.filter(pk=section.pk)
    # The update locks the row, so no two builders take the same numbers.
    rows.update(next_number=F("next_number") + total)
    return rows.values_list("next_number", flat=True)[0] - total


def _take_positions(section: Section, total: int) -> int:
    """Return the first of as many new positions; the index's section counts them."""
    index, _ = Section.objects.get_or_create(
        site=section.site,
        name=INDEX,
        defaults={"next_number": 0, "origin": section.origin},
    )
    position = _take_numbers(index, total)
    limit = get_settings().limit(MAX_ENTRIES, HISTORIC_SITEMAPS)
    # The first is page 0 (/sitemap.xml), the others 2 and on (/sitemaps-2.xml).
    wanted = {0, *range(2, -(-(position + total) // limit) + 1)}
    known = set(index.pages.values_list("number", flat=True))
    Page.objects.bulk_create(
        [Page(section=index, number=number) for number in sorted(wanted - known)]
    )
    return position


def raise_plan_version(section: Section) -> None:
    """Lock a section; a key located in its plan before is located again."""
    Section.objects.filter(pk=section.pk).update(plan_version=F("plan_version") + 1)
