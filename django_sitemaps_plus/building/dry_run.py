"""A dry run: everything is rendered and counted, nothing is stored or marked."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator

from django_sitemaps_plus.conf import Site, get_site
from django_sitemaps_plus.core.limits import LimitExceededError
from django_sitemaps_plus.models import Page, Section
from django_sitemaps_plus.planning import first_plan
from django_sitemaps_plus.registry import registry

from .plan.replan import active_plan
from .plan.split import split_ranges
from .report import BuildReport, SectionReport
from .store import BuiltPage, build_page


def dry_run(names: Iterable[str] = ()) -> BuildReport:
    """Render every page of sections, and report what a full build would do.

    Args:
        names: sections; none for all of the registry.

    Raises:
        NotRegistered: a section that does not exist.
        SourceError: a source could not be read.
    """
    began = time.monotonic()
    names = list(names) or list(registry)
    for name in names:
        registry.get(name)
    site = get_site()
    reports = [_try_section(name, site) for name in names]
    seconds = time.monotonic() - began
    return BuildReport(sections=reports, seconds=seconds, is_dry_run=True)


def _try_section(name: str, site: Site) -> SectionReport:
    began = time.monotonic()
    report = SectionReport(section=name)
    for page in _pages(name, site):
        for built in _try(page, site):
            report.pages += bool(built.entries)
            report.rendered += 1
            report.stored += built.is_new and bool(built.object)
            report.entries += built.entries
            report.plain_size += built.plain_size
            report.gzip_size += built.gzip_size
            report.skipped += built.skipped
            report.dropped += built.dropped
            report.problems += built.problems
    report.seconds = time.monotonic() - began
    return report


def _pages(name: str, site: Site) -> list[Page]:
    section = Section.objects.filter(site=site.name, name=name).first()
    if section is not None and section.next_number > 1:
        return active_plan(section)
    section = section or Section(site=site.name, name=name)
    ranges = first_plan(name, site).ranges
    return [Page(section=section, number=0, low=r.low, high=r.high) for r in ranges]


def _try(page: Page, site: Site) -> Iterator[BuiltPage]:
    """Render a page; in pieces, where it has outgrown its limits."""
    try:
        yield build_page(page, site, is_stored=False)
    except LimitExceededError:
        ways = split_ranges(page, site)
        # The end of the last page holds a whole page, unless its rows are large.
        pieces = next(ranges for ranges in ways if len(ranges) > 1)
        for bounds in pieces:
            piece = Page(section=page.section, low=bounds.low, high=bounds.high)
            yield from _try(piece, site)
