"""Adding pages: their numbers and places in the index were never used before."""

from __future__ import annotations

from collections.abc import Sequence

from django.db.models import F, QuerySet

from django_sitemaps_plus.core.limits import MAX_ENTRIES
from django_sitemaps_plus.core.plan import KeyRange, as_number
from django_sitemaps_plus.models import INDEX, Page, Section

#: Pages of a new plan that are made in one statement.
BATCH_PAGES = 100


def add_pages(
    section: Section, ranges: Sequence[KeyRange], **fields: object
) -> list[Page]:
    """Make new pages for key ranges, inside a transaction of the caller's.

    Their numbers, and their places among the site's pages, were never used before.
    """
    total = len(ranges)
    number = _take(Section.objects.filter(pk=section.pk), total)
    index, _ = Section.objects.get_or_create(
        site=section.site, name=INDEX, defaults={"next_number": 0}
    )
    place = _take(Section.objects.filter(pk=index.pk), total)
    _add_indexes(index, place + total)
    pages = [
        Page(
            section=section,
            number=number + i,
            place=place + i,
            low=bounds.low,
            low_number=as_number(bounds.low),
            high=bounds.high,
            **fields,
        )
        for i, bounds in enumerate(ranges)
    ]
    return Page.objects.bulk_create(pages)


def add_plan(section: Section, ranges: Sequence[KeyRange], **fields: object) -> None:
    """Make the pages of a whole plan, of which only some are in memory at once."""
    for start in range(0, len(ranges), BATCH_PAGES):
        add_pages(section, ranges[start : start + BATCH_PAGES], **fields)


def _take(rows: QuerySet[Section], total: int) -> int:
    # The update locks the row, so no two builders take the same numbers.
    rows.update(next_number=F("next_number") + total)
    return rows.values_list("next_number", flat=True)[0] - total


def index_number(place: int) -> int:
    """Return the page number of the index that lists the page at a place.

    The first is page 0 (``/sitemap.xml``), the others 2 and on (``/sitemaps-2.xml``).
    """
    number = place // MAX_ENTRIES + 1
    return 0 if number == 1 else number


def _add_indexes(index: Section, places: int) -> None:
    wanted = {index_number(place) for place in range(0, max(places, 1), MAX_ENTRIES)}
    known = set(index.pages.values_list("number", flat=True))
    Page.objects.bulk_create(
        [Page(section=index, number=number) for number in sorted(wanted - known)]
    )
