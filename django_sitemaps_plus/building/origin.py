"""The origin: what is stored is built for one, and by processes that have it."""

from __future__ import annotations

from django_sitemaps_plus.conf import Site
from django_sitemaps_plus.models import Page, Section
from django_sitemaps_plus.models.sections import check_origin


def take_origin(site: Site, *, has_moved: bool) -> None:
    """Record the origin of a build; refuse one that what is stored does not have."""
    origins = {recorded for (recorded,) in Section.objects.origins(site=site.name)}
    for recorded in () if has_moved else origins:
        check_origin(recorded, site)
    if origins - {site.origin}:
        # What sections list is marked by their fingerprints, of which it is a part.
        Section.objects.filter(site=site.name).update(origin=site.origin)
        Page.objects.mark_indexes(site=site.name)
