"""The open section: row, source and site, bound once and handed on."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from inspect import getattr_static
from typing import Any

from django.db import Error

from django_sitemaps_plus.conf import Site, in_force
from django_sitemaps_plus.core.limits import LimitExceededError
from django_sitemaps_plus.core.xml import printable
from django_sitemaps_plus.exceptions import BuildError, SourceError
from django_sitemaps_plus.models import Section
from django_sitemaps_plus.models.base import contained
from django_sitemaps_plus.models.sections import is_well
from django_sitemaps_plus.outages import ends_work, is_outage
from django_sitemaps_plus.registry import registry
from django_sitemaps_plus.sites import get_site
from django_sitemaps_plus.sources import (
    Reader,
    SitemapSource,
    Source,
    reader_of,
    surroundings,
)

#: The words for an error of a source: the kind, the names of models if any are known,
#: and the rest, which may have values of rows.
UNREAD = re.compile(
    r"(section .+? could not be read: [^ :]+)(?: \(([^)]*)\))?"
    r"[^\u2069]*"  # a mark of shortened()
)


@dataclass(slots=True, eq=False)
class OpenSection:
    """A section of a site, as this process has it.

    Never pickled: another process may have other code, and opens its own.
    """

    name: str  # "" of a source without a section
    source: Source
    site: Site
    #: As the database had it when the section was opened by it, or planned; else not
    #: set.
    row: Section = field(init=False, repr=False)
    #: The reader that planned it last, and knows its first rows.
    planned_by: Reader[Any] | None = field(default=None, init=False, repr=False)

    @property
    def reader(self) -> Reader[Any]:
        """A new reader of the source, which asks ``items()`` anew; for one use."""
        _ = self.source.sites  # the registry passes over what this raises
        return reader_of(self.source)

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Run the code of the source, which is the user's, and say what errors mean.

        Language, time zone, URLconf and script prefix are those of the site. A query
        that fails leaves a transaction of the caller usable.

        Raises:
            SourceError: the source failed.
            BuildError, LimitExceededError: as they were raised.
            DatabaseError, InterfaceError: our own rows cannot be read either.
        """
        try:
            with in_force(self.site), surroundings(self.site), contained():
                yield
        except (BuildError, LimitExceededError):
            raise
        except Exception as error:
            if ends_work(error) or (isinstance(error, Error) and not is_well()):
                raise
            name = f"section {self.name!r}" if self.name else repr(self.source)
            # The last note names a row; it comes first, so that no limit cuts it.
            notes = [*reversed(getattr(error, "__notes__", ()))]
            known = [getattr_static(self.source, "model", None)]
            if isinstance(self.source, SitemapSource):
                known += self.source.models or ()
            models = [it.__name__ for it in known if isinstance(it, type)]
            if models and not notes:
                notes = [f"({', '.join(models)})"]
            parts = [" ".join([type(error).__name__, *notes]), str(error)]
            words = printable(": ".join([it.partition("\n")[0] for it in parts]))
            raise SourceError(
                f"{name} could not be read: {words}", is_outage=is_outage(error)
            ) from error


def open_section(
    section: str | Section | Source, site: Site | None = None
) -> OpenSection:
    """Open a section by its name or row (or NotRegistered), or a source without one."""
    site = site or get_site()
    if isinstance(section, Source):
        return OpenSection("", section, site)
    name = section if isinstance(section, str) else section.name
    opened = OpenSection(name, registry.get(name), site)
    if isinstance(section, Section):
        opened.row = section
    return opened
