"""The dashboard's numbers: how sites are, for its pages, commands and monitors."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

from django_sitemaps_plus.building.report import index_problems
from django_sitemaps_plus.conf import Site, silence_reason
from django_sitemaps_plus.exceptions import ConfigurationError
from django_sitemaps_plus.models import INDEX, Page
from django_sitemaps_plus.registry import registry
from django_sitemaps_plus.sites import in_force

from .engine_status import EngineStatus, engine_status
from .status import SectionStatus, section_status

#: Seconds after which a change or a build is late: cron may build once a day.
LATE = 25 * 3_600


@dataclass(slots=True, kw_only=True)
class SiteStatus:
    """How one site is."""

    site: Site
    sections: list[SectionStatus] = field(default_factory=list)  # by name
    engines: list[EngineStatus] = field(default_factory=list)  # by name
    index_problems: list[str] = field(default_factory=list)  # why it is not up to date
    silence: str = ""  # why no engine is notified; "" if they are, or there is none

    @property
    def is_live(self) -> bool:
        """Whether all is rendered on request, since no build has made pages."""
        return all(it.live for it in self.sections)

    @property
    def entries(self) -> int:
        """Entries of all sections that are built."""
        return sum([section.entries for section in self.sections])

    @property
    def pages(self) -> int:
        """Pages of them that have entries."""
        return sum([section.pages for section in self.sections])

    @property
    def dirty(self) -> int:
        """Pages that are still to be built."""
        return sum([section.dirty for section in self.sections])

    @property
    def builders(self) -> int:
        """Builders at work; one that has pages of two sections counts twice."""
        return sum([section.builders for section in self.sections])

    @property
    def changes(self) -> int:
        """Changes that are recorded, and not yet located."""
        return sum([section.changes for section in self.sections])

    @property
    def oldest(self) -> datetime | None:
        """The time of the oldest change that waits for a build; None without one."""
        return min([it.oldest for it in self.sections if it.oldest], default=None)

    @property
    def last_build_at(self) -> datetime | None:
        """When a build last looked for changes of any section."""
        times = [it.last_build_at for it in self.sections if it.last_build_at]
        return max(times, default=None)


def read_dashboard(sites: Sequence[Site]) -> list[SiteStatus]:
    """Return how sites are, in their order, by nine queries whatever their size.

    Each further database that has changes costs one more.
    """
    found = {site.name: SiteStatus(site=site) for site in sites}
    for section in section_status(*sites):
        found[section.site].sections.append(section)
    for engine in engine_status(*sites):
        found[engine.site].engines.append(engine)
    indexes = defaultdict[str, list[Page]](list)
    rows = Page.objects.with_section().filter(section__site__in=list(found))
    for page in rows.filter(section__name=INDEX):
        indexes[page.section.site].append(page)
    unknown = []
    try:
        registry.must_be_whole()
    except ConfigurationError as error:
        unknown.append(str(error))
    for site in sites:
        status = found[site.name]
        status.index_problems = [*unknown, *index_problems(indexes[site.name])]
        with in_force(site):
            status.silence = silence_reason() if status.engines else ""
    return list(found.values())
