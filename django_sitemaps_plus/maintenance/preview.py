"""Previews: the first entries of a page as they would be written now."""

from __future__ import annotations

from itertools import islice

from django_sitemaps_plus.conf import Site
from django_sitemaps_plus.core.key_ranges import KeyRange
from django_sitemaps_plus.exceptions import BuildError
from django_sitemaps_plus.models import Page, State
from django_sitemaps_plus.planning import first_plan
from django_sitemaps_plus.rendering import reading
from django_sitemaps_plus.sources import Tally, reader_of


def preview(
    section: str, number: int, limit: int, site: Site
) -> tuple[list[str], Tally]:
    """Render the first entries of a page; neither a row nor a file is written.

    The tally is of all rows that are read for them, in batches of some hundred.

    Raises:
        NotRegistered: there is no such section.
        BuildError: there is no such page, or the source could not be read.
    """
    tally, bounds = Tally(section), _bounds(section, number, site)
    with reading(section, site) as source:
        chunks = reader_of(source).chunks(bounds, site, tally)
        lines = (line for chunk in chunks for line in chunk.splitlines())
        return list(islice(lines, limit)), tally


def _bounds(section: str, number: int, site: Site) -> KeyRange:
    """Return the range of a page, by the plan that a build would make if none has."""
    row = Page.objects.served(site.name, section, number)
    if row is not None:
        return KeyRange(row.low, row.high)
    count = Page.objects.of(site.name, section).exclude(state=State.NEXT).count()
    ranges = [] if count else first_plan(section, site).ranges
    if number > len(ranges):
        count = count or len(ranges)
        raise BuildError(f"section {section!r} has no page {number}: it has {count}")
    return ranges[number - 1]
