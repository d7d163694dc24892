"""Backfill: the URLs of published pages, or of rows of sections without pages."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime

from django.utils import timezone

from django_sitemaps_plus.conf import get_settings
from django_sitemaps_plus.core.dates import parse_w3c
from django_sitemaps_plus.core.entry_lines import dated_lines, urls_in
from django_sitemaps_plus.exceptions import BuildError
from django_sitemaps_plus.models import Page, Section, State
from django_sitemaps_plus.planning import bounded_plan, remedy_of_size
from django_sitemaps_plus.registry import registry
from django_sitemaps_plus.section import open_section
from django_sitemaps_plus.sources import Tally
from django_sitemaps_plus.storage import read_document


def listed_urls(
    sections: Iterable[str] = (), since: datetime | None = None
) -> Iterator[list[str]]:
    """Yield the URLs of sections, or of all, those of a page or of some rows at a time.

    Entries without a lastmod, or with one before ``since``, are left out.

    Raises:
        NotRegistered: there is no such section.
        BuildError: a section cannot be read, or is too large before it is built.
    """
    names = list(sections) or list(registry)
    for name in names:
        registry.get(name)
    for name in names:
        for document in _documents(name):
            if since is not None:
                # A day is one of the project's time zone, and has no time of day.
                day = timezone.localtime(since).date().isoformat()
                newer = [
                    line
                    for text, line in dated_lines(document.decode().split("\n"))
                    if (
                        text >= day
                        if len(text) == len(day)
                        else parse_w3c(text) >= since
                    )
                ]
                document = "\n".join(newer).encode()
            if urls := urls_in(document):
                yield urls


def _documents(name: str) -> Iterator[bytes]:
    """Yield the published pages of a section; without any, pages made of its rows."""
    section = open_section(name)
    site = section.site
    sections = Section.objects.filter(site=site.name, name=name, next_number__gt=1)
    if not sections.exists():
        plan = bounded_plan(section, get_settings().live_max_rows)
        if plan is None:
            raise BuildError(
                f"section {name!r} has no pages yet, and too many rows to be read "
                f"without (LIVE_MAX_ROWS). {remedy_of_size(section)}"
            )
        for bounds in plan.ranges:
            with section.reading():
                lines = "".join(section.reader.chunks(bounds, Tally(name)))
            yield lines.encode()
        return
    pages = Page.objects.of(site.name, name).filter(state=State.ACTIVE)
    for stored in pages.exclude(object="").order_by("number").values_list("object"):
        yield read_document(stored[0])
