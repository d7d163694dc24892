"""Adding pages: under numbers never used before, each at a position of an index."""

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

    Their numbers were never used before. Their positions among the site's pages are the
    next ones, or, before another index is begun, those that others have left.
    """
    rows = Section.objects.filter(pk=section.pk)
    # The update locks the row, so no two builders take the same numbers.
    rows.update(next_number=F("next_number") + len(ranges))
    number = _next_number(section) - len(ranges)
    positions = _take_positions(section.site, len(ranges))
    pages = [
        Page(
            section=section,
            number=number + i,
            index_position=position,
            low=bounds.low,
            low_number=as_number(bounds.low),
            high=bounds.high,
            **fields,
        )
        for i, (bounds, position) in enumerate(zip(ranges, positions, strict=True))
    ]
    return Page.objects.bulk_create(pages)


def add_plan(section: Section, ranges: Sequence[KeyRange], **fields: object) -> None:
    """Make the pages of a whole plan, of which only some are in memory at once."""
    for start in range(0, len(ranges), BATCH_PAGES):
        add_pages(section, ranges[start : start + BATCH_PAGES], **fields)


def _next_number(section: Section) -> int:
    rows = Section.objects.filter(pk=section.pk)
    return rows.values_list("next_number", flat=True)[0]


def _take_positions(site: str, total: int) -> list[int]:
    """Return positions for new pages; the index's section counts those ever used."""
    index, _ = Section.objects.get_or_create(
        site=site, name=INDEX, defaults={"next_number": 0}
    )
    rows = Section.objects.filter(pk=index.pk)
    rows.update(next_number=F("next_number"))  # locks it, as above
    end = _next_number(index)
    has_room = index_number(end + total - 1) == index_number(max(end - 1, 0))
    free = [] if has_room else _left_positions(site, end, total)
    used = end + total - len(free)
    rows.update(next_number=used)
    _add_indexes(index, used)
    return [*free, *range(end, used)]


def _left_positions(site: str, end: int, total: int) -> list[int]:
    """Return the first positions whose pages were merged or replaced."""
    pages = Page.objects.filter(section__site=site).exclude(section__name=INDEX)
    in_force = pages.exclude(state=State.RETIRED)
    taken = set(in_force.values_list("index_position", flat=True).iterator())
    left: Iterable[int] = (position for position in range(end) if position not in taken)
    return list(islice(left, total))


def index_number(position: int) -> int:
    """Return the page number of the index that lists the page at a position.

    The first is page 0 (``/sitemap.xml``), the others 2 and on (``/sitemaps-2.xml``).
    """
    number = position // MAX_ENTRIES + 1
    return 0 if number == 1 else number


def _add_indexes(index: Section, positions: int) -> None:
    wanted = {
        index_number(position) for position in range(0, max(positions, 1), MAX_ENTRIES)
    }
    known = set(index.pages.values_list("number", flat=True))
    Page.objects.bulk_create(
        [Page(section=index, number=number) for number in sorted(wanted - known)]
    )
