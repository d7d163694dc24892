"""Previews: the first entries of a page as they would be written now."""

from __future__ import annotations

from itertools import islice

from django_sitemaps_plus.conf import Site
from django_sitemaps_plus.core.key_ranges import KeyRange
from django_sitemaps_plus.exceptions import BuildError
from django_sitemaps_plus.models import Page, State
from django_sitemaps_plus.planning import first_plan
from django_sitemaps_plus.section import open_section
from django_sitemaps_plus.sources import Tally


def preview(
    section: str, number: int, limit: int, site: Site
) -> tuple[list[str], Tally]:
    """Render the first entries of a page; neither a row nor a file is written.

    The tally is of all rows that are read for them, in batches of some hundred.

    Raises:
        NotRegistered: there is no such section.
        BuildError: there is no such page, or the source could not be read.
    """
    opened, tally = open_section(section, site), Tally(section)
    row = Page.objects.served(site.name, section, number)
    if row is not None:
        bounds = KeyRange(row.low, row.high)
    else:  # by the plan that a build would make if none has
        pages = Page.objects.of(site.name, section)
        count = pages.exclude(state=State.NEXT).count()
        ranges = [] if count else first_plan(opened).ranges
        if number > len(ranges):
            count = count or len(ranges)
            words = f"section {section!r} has no page {number}: it has {count}"
            raise BuildError(words)
        bounds = ranges[number - 1]
    with opened.reading():
        chunks = opened.reader.chunks(bounds, tally)
        lines = (line for chunk in chunks for line in chunk.splitlines())
        return list(islice(lines, limit)), tally
