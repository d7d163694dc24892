"""Which pages the indexes of a site list."""

from __future__ import annotations

from collections.abc import Collection
from itertools import groupby
from operator import itemgetter
from typing import Any, TypeAlias

from django_sitemaps_plus.conf import get_settings
from django_sitemaps_plus.core.limits import HISTORIC_SITEMAPS, MAX_ENTRIES

from .pages import Page
from .sections import Section

#: Pages by the name of their section: of each the section, number and lastmod.
Listed: TypeAlias = dict[str, list[tuple[Any, int, str]]]


def listed_pages(
    site: str, registered: Collection[str], number: int, *, is_live: bool
) -> tuple[Listed, set[str]]:
    """Return the pages that an index lists, and the sections that have a plan.

    A live one lists pages that were never built, too, if they can be rendered here.
    """
    # First: one that is planned meanwhile counts as one without, and is listed, too.
    sections = Section.objects.listable(site, tuple(registered))
    names = {pk: name for pk, name, _ in sections}
    ids = tuple(sorted(names))
    unbuilt = tuple([pk for pk in ids if is_live and names[pk] in registered])
    most = get_settings().limit(MAX_ENTRIES, HISTORIC_SITEMAPS)
    first = max(number - 1, 0) * most
    rows = Page.objects.index_rows(ids, unbuilt, first, first + most)
    positions = [] if rows or number else Page.objects.first_position(ids, unbuilt)
    if positions:
        # A new plan of very many pages has left the first index empty. It lists the
        # pages of the next one, since it is the only one that everybody knows.
        first = positions[0][0] // most * most
        rows = Page.objects.index_rows(ids, unbuilt, first, first + most)
    # They come about in this order, so to sort them here is faster than there.
    rows.sort()
    by_section = groupby(rows, itemgetter(0))
    listed = {names[pk]: list(pages) for pk, pages in by_section}
    return listed, {name for _, name, next_number in sections if next_number > 1}
