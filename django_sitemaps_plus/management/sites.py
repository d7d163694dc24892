"""The base of commands that are run for each site."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from django_sitemaps_plus.conf import Site, get_settings, get_sites, site_at
from django_sitemaps_plus.registry import registry
from django_sitemaps_plus.sites import in_force

from .failures import in_a_sentence


class SiteCommand(BaseCommand):
    """Runs :meth:`handle_site` for each site; one that fails keeps back no other."""

    def create_parser(self, *args: Any, **kwargs: Any) -> CommandParser:
        """Add the option of all these commands."""
        parser: CommandParser = super().create_parser(*args, **kwargs)
        words = "for this site only (default: each of SITES)"
        parser.add_argument("--site", action="append", default=[], help=words)
        return parser

    def handle(self, *, site: list[str], **options: Any) -> None:
        """Run for the sites that were asked for; fail if it has failed for one."""
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
                with in_force(one):
                    self.handle_site(**_of_site(options))
            except CommandError as error:
                code = max(code, error.returncode)
                problems.append(f"{one.name}: {error}" if are_many else str(error))
        if problems:
            raise CommandError("\n".join(problems), returncode=code)

    def sites_for(self, sites: list[Site], **options: Any) -> list[Site]:
        """Return those of the chosen sites that have what was asked for."""
        names = _names(options)
        if not names or not any([name in registry for name in names]):
            return sites
        found = []
        for site in sites:
            with in_force(site):
                found += [site] if any([name in registry for name in names]) else []
        return found or sites

    def handle_site(self, *args: Any, **options: Any) -> None:
        """Run for the site in force."""
        raise NotImplementedError


def sites_at(urls: Iterable[str], sites: list[Site]) -> list[Site]:
    """Return those of some sites that have one of the URLs; for paths, all."""
    found = []
    for site in sites:
        with in_force(site):
            found += [site] if any([site_at(url, site) for url in urls]) else []
    return found or sites


def _chosen(names: Sequence[str]) -> list[Site]:
    with in_a_sentence():
        sites = {site.name: site for site in get_sites()}
    for name in names:
        if name not in sites:
            known = ", ".join(sites) or "none"
            raise CommandError(f"There is no site {name!r}. SITES has: {known}.")
    return [sites[name] for name in names or sites]


def _names(options: dict[str, Any]) -> list[str]:
    """Return the sections that were asked for."""
    found = options.get("sections") or options.get("section") or []
    return [found] if isinstance(found, str) else found


def _of_site(options: dict[str, Any]) -> dict[str, Any]:
    """Return options without the sections that only other sites have."""
    names = _names(options)
    own = [name for name in names if name in registry]
    kinds = [key for key in ("sections", "section") if options.get(key) == names]
    return {**options, **dict.fromkeys(kinds, own)} if own else options
