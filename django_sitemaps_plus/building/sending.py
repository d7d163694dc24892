"""The signal that a page was published, for whoever listens."""

from __future__ import annotations

from django_sitemaps_plus.conf import Site
from django_sitemaps_plus.models import INDEX, Page
from django_sitemaps_plus.signals import page_built
from django_sitemaps_plus.sources import surroundings
from django_sitemaps_plus.sources.route import compile_route


def send_page_built(page: Page, entries: int, site: Site) -> None:
    """Tell that a page of a section is served with new bytes.

    Args:
        page: its row.
        entries: that it has now.
        site: the site.
    """
    if page.section.name == INDEX or not page_built.has_listeners():
        return
    with surroundings(site):
        url = compile_route("sitemaps_plus:page", ("section", "number"))
        path = url((page.section.name, page.number))
    page_built.send_robust(
        sender=Page,
        section=page.section.name,
        number=page.number,
        entries=entries,
        url=site.origin + path,
    )
