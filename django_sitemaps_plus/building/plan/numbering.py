"""Adding pages: under numbers never used before, each at a place of an index."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice

from django.db.models import F

from django_sitemaps_plus.core.key_ranges import KeyRange, as_number
from django_sitemaps_plus.core.limits import MAX_ENTRIES
from django_sitemaps_plus.models import INDEX, Page, Section, State

#: Pages of a new plan that are made in one statement.
BATCH_PAGES = 100


def add_pages(
    section: Section, ranges: Sequence[KeyRange], **fields: object
) -> list[Page]:
    """Make new pages for key ranges, inside a transaction of the caller's.

    Their numbers were never used before. Their places among the site's pages are the
    next ones, or, before another index is begun, those that others have left.
    """
    rows = Section.objects.filter(pk=section.pk)
    # The update locks the row, so no two builders take the same numbers.
    rows.update(next_number=F("next_number") + len(ranges))
    number = _next_number(section) - len(ranges)
    places = _take_places(section.site, len(ranges))
    pages = [
        Page(
            section=section,
            number=number + i,
            place=place,
            low=bounds.low,
            low_number=as_number(bounds.low),
            high=bounds.high,
            **fields,
        )
        for i, (bounds, place) in enumerate(zip(ranges, places, strict=True))
    ]
    return Page.objects.bulk_create(pages)


def add_plan(section: Section, ranges: Sequence[KeyRange], **fields: object) -> None:
    """Make the pages of a whole plan, of which only some are in memory at once."""
    for start in range(0, len(ranges), BATCH_PAGES):
        add_pages(section, ranges[start : start + BATCH_PAGES], **fields)


def _next_number(section: Section) -> int:
    rows = Section.objects.filter(pk=section.pk)
    return rows.values_list("next_number", flat=True)[0]


def _take_places(site: str, total: int) -> list[int]:
    """Return places for new pages; the section of the index counts those ever used."""
    index, _ = Section.objects.get_or_create(
        site=site, name=INDEX, defaults={"next_number": 0}
    )
    rows = Section.objects.filter(pk=index.pk)
    rows.update(next_number=F("next_number"))  # locks it, as above
    end = _next_number(index)
    has_room = index_number(end + total - 1) == index_number(max(end - 1, 0))
    free = [] if has_room else _left_places(site, end, total)
    used = end + total - len(free)
    rows.update(next_number=used)
    _add_indexes(index, used)
    return [*free, *range(end, used)]


def _left_places(site: str, end: int, total: int) -> list[int]:
    """Return the first places whose pages were merged, or replaced by a new plan."""
    pages = Page.objects.filter(section__site=site).exclude(section__name=INDEX)
    in_force = pages.exclude(state=State.RETIRED)
    taken = set(in_force.values_list("place", flat=True).iterator())
    left: Iterable[int] = (place for place in range(end) if place not in taken)
    return list(islice(left, total))


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
