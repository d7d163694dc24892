"""The base of all commands: run for each site, and end with a sentence."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from django.core.exceptions import ImproperlyConfigured
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.core.serializers.json import DjangoJSONEncoder
from django.db import Error

from django_sitemaps_plus.conf import Site, get_settings, get_sites
from django_sitemaps_plus.exceptions import SitemapsPlusError
from django_sitemaps_plus.outages import in_one_line
from django_sitemaps_plus.registry import registry
from django_sitemaps_plus.sites import in_force


class SiteCommand(BaseCommand):
    """Runs :meth:`handle_site` for each site; one that fails keeps back no other."""

    #: What is said where the app, the settings or a database fail, and the exit status
    #: for a database.
    failure, outage_status = "{}.", 1

    def create_parser(self, *args: Any, **kwargs: Any) -> CommandParser:
        """Add the option of all these commands."""
        parser: CommandParser = super().create_parser(*args, **kwargs)
        words = "for this site only (default: each of SITES)"
        parser.add_argument("--site", action="append", default=[], help=words)
        return parser

    def handle(self, *, site: list[str], **options: Any) -> None:
        """Run for the sites that were asked for; fail if it has failed for one."""
        with self._in_a_sentence():
            if get_settings().sites is None and not site:
                self.handle_site(**options)
                return
            sites = self.sites_for(_chosen(site), **options)
        are_many, problems, code = len(sites) > 1, [], 1
        if are_many and options.get("json"):
            raise CommandError("JSON is of one site: add --site.")
        for one in sites:
            if are_many and options["verbosity"]:
                self.stdout.write(f"Site {one.name}, {one.origin}:")
            try:
                with in_force(one), self._in_a_sentence():
                    own = _own_sections(options)
                    self.handle_site(**{**options, **own})
            except CommandError as error:
                code = max(code, error.returncode)
                problems.append(f"{one.name}: {error}" if are_many else str(error))
        if problems:
            raise CommandError("\n".join(problems), returncode=code)

    def sites_for(self, sites: list[Site], **options: Any) -> list[Site]:
        """Return those of the chosen sites that have what was asked for; else all."""
        found = []
        for site in sites:
            with in_force(site):
                found += [site] if self.is_of(site, **options) else []
        return found or sites

    def is_of(self, site: Site, **options: Any) -> bool:
        """Return whether the site in force has what was asked for."""
        return not options.get("section") or bool(_own_sections(options))

    def handle_site(self, *args: Any, **options: Any) -> None:
        """Run for the site in force."""
        raise NotImplementedError

    def write_json(self, found: object) -> None:
        """Write a report for machines."""
        self.stdout.write(json.dumps(found, cls=DjangoJSONEncoder, indent=2))

    @contextmanager
    def _in_a_sentence(self) -> Iterator[None]:
        """Raise a CommandError for what the app, the settings or a database raise."""
        try:
            yield
        except (SitemapsPlusError, ImproperlyConfigured, Error) as error:
            words = self.failure.format(in_one_line(error))
            status = self.outage_status if isinstance(error, Error) else 1
            raise CommandError(words, returncode=status) from error


def _chosen(names: Sequence[str]) -> list[Site]:
    sites = {site.name: site for site in get_sites()}
    for name in names:
        if name not in sites:
            known = ", ".join(sites) or "none"
            raise CommandError(f"There is no site {name!r}. SITES has: {known}.")
    return [sites[name] for name in names or sites]


def _own_sections(options: dict[str, Any]) -> dict[str, Any]:
    """Return the option of the sections without those that only other sites have."""
    own = [name for name in options.get("section") or () if name in registry]
    return {"section": own} if own else {}
