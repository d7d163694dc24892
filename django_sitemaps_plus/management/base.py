"""The base of all commands: run for each site, and end with a sentence."""

from __future__ import annotations

import json
from argparse import ArgumentTypeError
from collections.abc import Callable, Container, Iterator
from contextlib import contextmanager
from math import inf
from typing import Any

from django.core.management.base import (
    BaseCommand,
    CommandError,
    CommandParser,
    OutputWrapper,
)
from django.core.serializers.json import DjangoJSONEncoder
from django.db import Error

from django_sitemaps_plus.background.work import FAILURES
from django_sitemaps_plus.conf import Site, get_settings, in_force
from django_sitemaps_plus.core.xml import printable
from django_sitemaps_plus.outages import in_one_line
from django_sitemaps_plus.registry import registry
from django_sitemaps_plus.sites import get_sites


def number(words: str, most: float = inf) -> Callable[[str], int]:
    """Return what takes a number from 1 on, as the words say it, from an argument."""

    def taken(text: str) -> int:
        if not text.isdecimal() or not 1 <= int(text) <= most:
            raise ArgumentTypeError(f"{text!r} is not {words}")
        return int(text)

    return taken


class _Printable(OutputWrapper):
    """Writes lines with texts of rows, people and engines, which no terminal obeys."""

    def __init__(self, out: Any) -> None:
        super().__init__(out)
        self.wrapped = out

    def write(self, msg: str = "", *style: Any, **others: Any) -> Any:
        """Write a text, escaped before it is styled."""
        text = "\n".join(map(printable, msg.split("\n")))
        self.wrapped.write(text, *style, **others)


class PrintableCommand(BaseCommand):
    """Prints no control character, also not of an error that ends it."""

    def handle(self, **options: Any) -> None:
        """Run with outputs that escape what they print."""
        self.stdout, self.stderr = map(_Printable, (self.stdout, self.stderr))
        self.run(**options)

    def run(self, *args: Any, **options: Any) -> None:
        raise NotImplementedError


class SiteCommand(PrintableCommand):
    """Runs :meth:`handle_site` for each site; one that fails keeps back no other."""

    #: The words where the app, the settings or a database fail, and the exit status
    #: for a database.
    failure, outage_status = "{}.", 1

    def create_parser(self, *args: Any, **kwargs: Any) -> CommandParser:
        """Add the option of all these commands."""
        parser: CommandParser = super().create_parser(*args, **kwargs)
        words = "for this site only (default: each of SITES)"
        parser.add_argument("--site", action="append", default=[], help=words)
        return parser

    def run(self, *, site: list[str], **options: Any) -> None:
        """Run for the sites that were asked for; fail if it has failed for one."""
        with self._in_a_sentence():
            if get_settings().sites is None and not site:
                self.handle_site(**options)
                return
            sites = {each.name: each for each in get_sites()}
            for name in site:
                if name not in sites:
                    words = f"SITES has: {', '.join(sites) or 'none'}."
                    raise CommandError(f"There is no site {name!r}. {words}")
            asked = self.by_site([sites[name] for name in site or sites], options)
        are_many, problems, code = len(asked) > 1, [], 1
        if are_many and options.get("json"):
            raise CommandError("JSON is of one site: add --site.")
        for one, own in asked.items():
            if are_many and options["verbosity"]:
                self.stdout.write(f"Site {one.name}, {one.origin}:")
            try:
                with in_force(one), self._in_a_sentence():
                    self.handle_site(**own)
            except CommandError as error:
                code = max(code, error.returncode)
                problems.append(f"{one.name}: {error}" if are_many else str(error))
        if problems:
            raise CommandError("\n".join(problems), returncode=code)

    def by_site(
        self, sites: list[Site], options: dict[str, Any]
    ) -> dict[Site, dict[str, Any]]:
        """Return the sites that have what was asked for, else all, with options."""
        asked = {}
        for site in sites:
            with in_force(site):
                own = self.options_of(site, **options)
            if own is not None:
                asked[site] = own
        return asked or dict.fromkeys(sites, options)

    def options_of(self, site: Site, **options: Any) -> dict[str, Any] | None:
        """Return what was asked for of the site in force; None for nothing."""
        if not options.get("section"):
            return options
        known = self.sections_of(site)
        own = [name for name in options["section"] if name in known]
        return {**options, "section": own} if own else None

    def sections_of(self, site: Site) -> Container[str]:
        """Return the sections of the site in force that may be asked for."""
        return registry

    def handle_site(self, *args: Any, **options: Any) -> None:
        """Run for the site in force."""
        raise NotImplementedError

    def write_json(self, report: object) -> None:
        """Write a report for machines."""
        self.stdout.write(json.dumps(report, cls=DjangoJSONEncoder, indent=2))

    @contextmanager
    def _in_a_sentence(self) -> Iterator[None]:
        """Raise a CommandError for what the app, the settings or a database raise."""
        try:
            yield
        except FAILURES as error:
            words = self.failure.format(in_one_line(error))
            status = self.outage_status if isinstance(error, Error) else 1
            raise CommandError(words, returncode=status) from error
