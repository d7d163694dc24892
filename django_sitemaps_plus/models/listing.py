"""Which pages the indexes of a site list."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta
from itertools import groupby
from operator import itemgetter
from typing import Any, TypeAlias

from django.db.models import Q, QuerySet
from django.db.models.functions import Now

from django_sitemaps_plus.core.limits import MAX_ENTRIES

from .pages import INDEX, Page, Section
from .prepared import fetch

#: How long the pages of a section that is no longer registered stay listed: while a
#: deploy is rolled out, some processes do not know a section that others do.
MISSING_GRACE = timedelta(hours=24)

#: Pages by the name of their section: of each the section, number and lastmod.
Listed: TypeAlias = dict[str, list[tuple[Any, int, str]]]


def listed_pages(
    site: str, registered: Iterable[str], number: int
) -> tuple[Listed, set[str]]:
    """Return the pages that an index lists, and the sections that have a plan.

    Sections are asked for first: one that is planned meanwhile counts as one without,
    and is listed all the same.
    """
    sections = fetch(_sections, site, tuple(registered))
    names = {pk: name for pk, name, _ in sections}
    ids = tuple(sorted(names))
    first = max(number - 1, 0) * MAX_ENTRIES
    rows = fetch(_pages, ids, first, first + MAX_ENTRIES)
    if not rows and not number and (positions := fetch(_first_position, ids)):
        # A new plan of very many pages has left the first index empty. It lists the
        # pages of the next one, since it is the only one that everybody knows.
        first = positions[0][0] // MAX_ENTRIES * MAX_ENTRIES
        rows = fetch(_pages, ids, first, first + MAX_ENTRIES)
    # They come about in this order, so to sort them here is faster than there.
    rows.sort()
    by_section = groupby(rows, itemgetter(0))
    listed = {names[pk]: list(pages) for pk, pages in by_section}
    return listed, {name for _, name, next_number in sections if next_number > 1}


def index_numbers(site: str) -> list[int]:
    """Return the numbers of the indexes after the first that list something."""
    return [number for (number,) in fetch(_index_numbers, site)]


def _sections(site: str, registered: tuple[str, ...]) -> QuerySet[Section, Any]:
    recent = Q(missing_since__gt=Now() - MISSING_GRACE) | Q(missing_since=None)
    known = Section.objects.filter(Q(name__in=registered) | recent, site=site)
    return known.exclude(name=INDEX).values_list("pk", "name", "next_number")


def _pages(sections: tuple[int, ...], first: int, end: int) -> QuerySet[Page, Any]:
    # Without the name of its section, which is the same in thousands of rows.
    pages = Page.objects.listed().filter(section__in=sections)
    pages = pages.filter(index_position__gte=first, index_position__lt=end)
    return pages.values_list("section_id", "number", "lastmod")


def _first_position(sections: tuple[int, ...]) -> QuerySet[Page, Any]:
    pages = Page.objects.listed().filter(section__in=sections)
    return pages.order_by("index_position").values_list("index_position")[:1]


def _index_numbers(site: str) -> QuerySet[Page, Any]:
    listed = Page.objects.of(site, INDEX).listed().filter(number__gt=0)
    return listed.order_by("number").values_list("number")
