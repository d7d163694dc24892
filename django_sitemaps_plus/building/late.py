"""Changes that come in while pages are built of which nobody is to be told."""

from __future__ import annotations

from django_sitemaps_plus.conf import Site
from django_sitemaps_plus.models import Page, Section, State, has_subscribers
from django_sitemaps_plus.registry import registry
from django_sitemaps_plus.rendering import reading
from django_sitemaps_plus.tracking.collecting import take_changes


def take_late_changes(page: Page, site: Site) -> None:
    """Take what was recorded until a page had been rendered, before it is flipped.

    A deploy is announced to nobody. An edit that is in the page already would leave it
    as it is when it is taken by the next refresh, so that it would never be told.

    Args:
        page: as it was claimed.
        site: the site.

    Raises:
        SourceError: changes could not be taken; the page is not to be flipped.
    """
    # Of a first build all is new, and of a plan to come its section is asked.
    if page.built and not page.announce and page.state == State.ACTIVE:
        take_changes_again(page.section, site)


def take_changes_again(section: Section, site: Site) -> None:
    """Take what was recorded since changes were taken, where anybody asks for it.

    Raises:
        SourceError: the source failed.
    """
    if section.name not in registry or not has_subscribers():
        return
    with reading(section.name, site) as source:
        take_changes(section, source)
