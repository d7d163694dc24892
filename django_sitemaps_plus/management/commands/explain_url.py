"""``explain_url``: say where a URL is listed, or what leaves it out."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandError, CommandParser, no_translations

from django_sitemaps_plus.conf import Site
from django_sitemaps_plus.diagnostics.explain import explain_url
from django_sitemaps_plus.diagnostics.words import at
from django_sitemaps_plus.management.base import SiteCommand
from django_sitemaps_plus.models.sections import owning_site
from django_sitemaps_plus.site_urls import with_scheme
from django_sitemaps_plus.sites import site_at


class Command(SiteCommand):
    """Shows pages, rows and engines of one URL."""

    help = "Say where a URL is listed, or what leaves it out; exit with 1 if it is not."
    failure = "Nothing can be said: {}."
    requires_system_checks: list[str] = []  # a source with a fault is explained, too

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("url", metavar="URL", help="a URL of the site, or a path")

    def options_of(self, site: Site, **options: Any) -> dict[str, Any] | None:
        """Return the options where the URL is on the site; a path is on none."""
        return options if site_at(with_scheme(options["url"], site), site) else None

    @no_translations
    def handle_site(self, *, url: str, **options: Any) -> None:
        """Show the explanation; raise a CommandError if the URL is not listed."""
        try:
            answer = explain_url(url, owning_site())
        except ValueError as error:
            raise CommandError(str(error)) from error
        lines = []
        for listing in answer.listings:
            also = "Listed too: " if answer.is_listed else "Listed instead: "
            words = "" if listing.url == answer.url else also
            words += f"{listing.url} is on page {listing.page} of section "
            dated = (
                f"lastmod {listing.lastmod}" if listing.lastmod else "without lastmod"
            )
            words += f"{listing.section!r}, {dated}"
            if listing.object and listing.published_at:
                words += f", in {listing.object} since"
                lines.append(f"{words} {at(listing.published_at)}.")
            else:
                lines.append(f"{words}, which is served live.")
        for lead in answer.rows:
            lines.append(f"It leads to {lead.row} of section {lead.section!r}.")
            if lead.reasons and answer.url not in lead.urls:
                lines += [f"  Its URL is {url}" for url in lead.urls]
            lines += [f"  Left out: {reason.rstrip('.')}." for reason in lead.reasons]
        lines += answer.notes
        lines += [
            f"Engine {name}: {said.rstrip('.')}."
            for name, said in answer.engines.items()
        ]
        self.stdout.write("\n".join(lines))
        if not answer.is_listed:
            known = "is not listed" if answer.is_whole else "may be listed or not"
            raise CommandError(f"{answer.url} {known}.")
