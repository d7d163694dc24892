"""The origin: what is stored is built for one, and by processes that have it."""

from __future__ import annotations

from django.db import Error

from django_sitemaps_plus.conf import Site
from django_sitemaps_plus.models import Page, Section
from django_sitemaps_plus.models.sections import check_origin
from django_sitemaps_plus.models.transactions import is_well


def take_origin(site: Site, *, has_moved: bool) -> None:
    """Record the origin of a build; refuse one that what is stored does not have."""
    try:
        origins = {recorded for (recorded,) in Section.objects.origins(site=site.name)}
    except Error:  # the first query of a build finds a connection that broke
        is_well()  # closes it, so that the next build opens another
        raise
    for recorded in () if has_moved else origins:
        check_origin(recorded, site)
    if origins - {site.origin}:
        # What sections list is marked by their fingerprints, of which it is a part.
        Section.objects.filter(site=site.name).update(origin=site.origin)
        Page.objects.mark_indexes(site=site.name)
