"""Noticing: every way in which a section may learn that its pages are out of date."""

from __future__ import annotations

from functools import partial

from django_sitemaps_plus.conf import Site
from django_sitemaps_plus.models import Section
from django_sitemaps_plus.rendering import reading
from django_sitemaps_plus.sources import Source

from .collecting import take_changes
from .lookback import look_back
from .schedule import mark_old, mark_scheduled


def notice(section: Section, source: Source, site: Site) -> None:
    """Make dirty what has changed since the last time, cheapest way first."""
    with reading(section.name, site):
        look_back(section, source, partial(take_changes, section, source))
        mark_scheduled(section, source)
        mark_old(section, source)
