"""``notify_search_engines``: submit what has changed, or chosen URLs, to engines."""

from __future__ import annotations

import secrets
from argparse import ArgumentTypeError
from dataclasses import asdict
from datetime import datetime, timedelta
from itertools import chain
from math import inf
from typing import Any

from django.core.management.base import CommandError, CommandParser, no_translations
from django.template.defaultfilters import pluralize
from django.utils import timezone

from django_sitemaps_plus import conf, sites
from django_sitemaps_plus.conf import in_force, setting_name
from django_sitemaps_plus.diagnostics.problems import problems_of
from django_sitemaps_plus.diagnostics.status import (
    EngineStatus,
    SiteStatus,
    engine_status,
)
from django_sitemaps_plus.diagnostics.words import span
from django_sitemaps_plus.management.base import SiteCommand
from django_sitemaps_plus.management.output import table
from django_sitemaps_plus.models.sections import owning_site
from django_sitemaps_plus.notifications import Engine, Takes, dispatch
from django_sitemaps_plus.notifications.backfill import listed_urls
from django_sitemaps_plus.notifications.configuration import broken_engines
from django_sitemaps_plus.notifications.outbox import want_urls
from django_sitemaps_plus.notifications.submit import DeliveryReport
from django_sitemaps_plus.registry import registry
from django_sitemaps_plus.site_urls import as_listed, with_scheme


def moment(text: str) -> datetime:
    """Return the moment of ``2026-11-20``, or of ``2026-11-20T09:30+00:00``."""
    try:
        at = datetime.fromisoformat(text)
    except ValueError as error:
        words = f"{text!r} is not a date: write 2026-11-20 or 2026-11-20T09:30"
        raise ArgumentTypeError(words) from error
    return timezone.make_aware(at) if timezone.is_naive(at) else at


_REPEATED = {
    "--section": "submit all its URLs",
    "--engine": "submit to this engine only (default: all)",
}
_FLAGS = {
    "--retry": "resume parked engines, and submit rejected URLs again",
    "--dry-run": "count without sending",
    "--json": "print JSON only",
    "--new-key": "print a new key for IndexNow",
}
_COLUMNS = {
    "engine": "engine",
    "waiting": "waiting",
    "rejected": "dead",
    "last notified": "sent_at",
}


class Command(SiteCommand):
    """Submits what waits, and ends with a line for each engine."""

    help = (
        "Submit to search engines the URLs that have changed, and those that are given "
        "or chosen."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        add = parser.add_argument
        add("urls", nargs="*", metavar="URL", help="URLs to submit")
        words = "only URLs with a lastmod from 2026-11-20, or 2026-11-20T09:30, on"
        add("--since", type=moment, help=words)
        words = "submit every URL, as after a move to another address"
        add("--all", action="store_true", dest="everything", help=words)
        for name, words in _REPEATED.items():
            add(name, action="append", default=[], help=words)
        for name, words in _FLAGS.items():
            add(name, action="store_true", help=words)

    def execute(self, *args: Any, **options: Any) -> str | None:
        """Run; for a new key without the checks, since one of them asks for a key."""
        options["skip_checks"] = options["skip_checks"] or options["new_key"]
        return super().execute(*args, **options)

    def run(self, *, site: list[str], new_key: bool = False, **options: Any) -> None:
        """Run for each site; a new key is of none."""
        if new_key:
            self.stdout.write(secrets.token_hex(16))
        else:
            super().run(site=site, **options)

    def options_of(self, site: conf.Site, **options: Any) -> dict[str, Any] | None:
        """Return what was asked for of a site that has one of the URLs."""
        urls = options["urls"]
        meant = [with_scheme(url, site) for url in urls]
        is_there = not urls or any([sites.site_at(url, site) for url in meant])
        return super().options_of(site, **options) if is_there else None

    def handle_site(self, *, verbosity: int, **asked: Any) -> None:
        """Submit what was asked for, and fail if any of it was not submitted."""
        begin = timezone.now()
        with in_force(owning_site()):
            report, chosen = _notify(begin, **asked)
        engines = engine_status(sites.get_site())
        rows = [asdict(engine) for engine in engines]
        if asked["json"]:
            self.write_json({"chosen": chosen, **asdict(report), "engines": rows})
        elif verbosity:
            self.stdout.write(table(_COLUMNS, rows))
            words = f"Nothing was sent (--dry-run). {chosen:,} URLs chosen."
            if not asked["dry_run"]:
                words = _closing(report, engines)
            self.stdout.write(words)
        if not asked["dry_run"]:
            begin_of_choice = begin if chosen else None
            problems = _problems(report, engines, asked["engine"], begin_of_choice)
            if problems:
                raise CommandError("\n".join(dict.fromkeys(problems)))


def _notify(
    begin: datetime,
    *,
    urls: list[str],
    section: list[str],
    since: datetime | None,
    everything: bool,
    engine: list[str],
    retry: bool,
    dry_run: bool,
    **others: Any,
) -> tuple[DeliveryReport, int]:
    """Submit what was asked for; return what was done and how many URLs were chosen."""
    are_listed = bool(section or since or everything)
    engines = _engines(engine, are_for_urls=are_listed or bool(urls))
    for name in section:
        registry.get(name)
    try:
        given = [as_listed(url, sites.get_site()) for url in urls]
    except ValueError as error:
        raise CommandError(str(error)) from error
    delay = conf.get_settings().notify_delay_seconds
    total = 0
    listed = listed_urls(section, since) if are_listed else ()
    for batch in chain([list(dict.fromkeys(given))], listed):
        total += len(batch)
        if batch and not dry_run:
            # URLs that are given by hand need not wait.
            want_urls(batch, begin - timedelta(seconds=delay), engines)
    if dry_run:
        return DeliveryReport(), total
    if retry:
        dispatch.retry(engine)
    return dispatch.notify_engines(engine, wait=delay), total


@no_translations
def _engines(names: list[str], *, are_for_urls: bool) -> list[Engine]:
    """Return the engines to notify; refuse a choice of URLs that they do not take."""
    engines = dispatch.chosen_engines(names)
    if not engines:
        none = f"No engines: {setting_name('ENGINES')} is empty."
        raise CommandError(next(map(str, broken_engines()), none))
    if reason := sites.silence_reason():
        raise CommandError(
            f"Engines are not notified: {reason}. {setting_name('NOTIFY')} = "
            "True forces it. What changed until now is not submitted later: edit and "
            "build again, or name URLs."
        )
    deaf = [engine.name for engine in engines if engine.takes is not Takes.URLS]
    # Others may be deaf, unless they are named for these URLs.
    if are_for_urls and deaf and (names or len(deaf) == len(engines)):
        raise CommandError(
            "These engines take no URLs, but indexes and feeds: "
            f"{', '.join(deaf)}. Run the command without a choice of URLs, or name "
            "other engines."
        )
    return engines


def _problems(
    report: DeliveryReport,
    engines: list[EngineStatus],
    names: list[str],
    begin: datetime | None,
) -> list[str]:
    """Return what failed or needs a person; ``begin`` is None if no URL was chosen."""
    problems = list(report.failures)
    for engine in engines:
        if names and engine.engine not in names:
            continue
        status = SiteStatus(site=sites.get_site(), engines=[engine])
        problems += map(str, problems_of(status, max_age=inf))  # it runs just now
        if begin and engine.waiting:
            problems += [
                f"{engine.engine} for {host}: {error.rstrip('.')}. It is tried again "
                "automatically"
                for host, error in engine.failing.items()
            ]
    if begin:
        # Deliveries that became due since the command began were not asked for.
        until = begin + timedelta(seconds=conf.get_settings().notify_delay_seconds)
        problems += [
            f"{engine.name} was not notified of all that was chosen: another process "
            "is at work; run again"
            for engine in dispatch.chosen_engines(names)
            if dispatch.has_due(engine, until)
        ]
    return problems


def _closing(report: DeliveryReport, engines: list[EngineStatus]) -> str:
    """Return how many targets were accepted; how many wait, and for what."""
    closing = f"{report.sent:,} accepted in {report.requests:,} requests."
    at = report.next_at
    if at is None or at <= timezone.now():
        return closing
    count, why = sum(engine.waiting for engine in engines), ""
    failing = [engine.engine for engine in engines if engine.failing]
    if failing:
        why = f"; the last request to {' and '.join(failing)} failed"
    elif count == sum(engine.resting for engine in engines):
        seconds = conf.get_settings().notify_interval_seconds
        why = f", since a URL is submitted again after {span(seconds)} at the earliest "
        why += "(NOTIFY_INTERVAL_SECONDS)"
    at = at if timezone.is_naive(at) else timezone.localtime(at)
    closing += f" {count:,} wait{pluralize(count, 's,')}{why}."
    return f"{closing} The next is due at {at:%Y-%m-%d %H:%M:%S}."
