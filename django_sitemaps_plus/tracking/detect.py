"""Detection: try all ways to find the dirty pages of a section, in order."""

from __future__ import annotations

from functools import partial

from django_sitemaps_plus.conf import Site
from django_sitemaps_plus.models import Section
from django_sitemaps_plus.rendering import reading

from .collecting import take_changes
from .lookback import look_back
from .schedule import mark_new, mark_old, mark_scheduled


def notice(section: Section, site: Site) -> None:
    """Make dirty what has changed since the last time, cheapest way first."""
    with reading(section.name, site) as source:
        look_back(section, source, partial(take_changes, section, source))
        mark_scheduled(section, source)
        mark_old(section, source)
        mark_new(section)
