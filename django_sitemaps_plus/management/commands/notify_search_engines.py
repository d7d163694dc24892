"""``notify_search_engines``: tell engines what has changed, or what is asked for."""

from __future__ import annotations

import argparse
import json
import secrets
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from datetime import datetime, timedelta
from typing import Any

from django.core.exceptions import ImproperlyConfigured
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.core.serializers.json import DjangoJSONEncoder
from django.utils import timezone
from django.utils.dateparse import parse_date, parse_datetime

from django_sitemaps_plus.conf import Site, get_settings, get_site, tells_engines
from django_sitemaps_plus.core.locations import absolute_url
from django_sitemaps_plus.exceptions import SitemapsPlusError
from django_sitemaps_plus.maintenance.status import EngineStatus, engine_status
from django_sitemaps_plus.management.tables import table
from django_sitemaps_plus.notifications import Engine, Takes, telling
from django_sitemaps_plus.notifications.backfill import listed_urls
from django_sitemaps_plus.notifications.configuration import broken_engines
from django_sitemaps_plus.notifications.outbox import want_urls
from django_sitemaps_plus.notifications.report import DeliveryReport
from django_sitemaps_plus.registry import registry


def moment(text: str) -> datetime:
    """Return the moment of ``2026-11-20``, or of ``2026-11-20T09:30+00:00``."""
    try:
        day = parse_date(text)
        found = datetime(day.year, day.month, day.day) if day else parse_datetime(text)  # noqa: DTZ001 - made aware below
    except ValueError:
        found = None
    if found is None:
        raise argparse.ArgumentTypeError(
            f"{text!r} is no time; give one such as 2026-11-20 or 2026-11-20T09:30"
        )
    return timezone.make_aware(found) if timezone.is_naive(found) else found


class Command(BaseCommand):
    """Tells what waits, and ends with a line for each engine."""

    help = (
        "Tell search engines which URLs have changed: those given or chosen, and all "
        "that waits to be told."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """Define the options."""
        parser.add_argument("urls", nargs="*", metavar="URL", help="tell of these")
        parser.add_argument(
            "--section", action="append", default=[], help="tell of all its URLs"
        )
        parser.add_argument(
            "--since", type=moment, help="only of URLs whose lastmod is not older"
        )
        parser.add_argument(
            "--all",
            action="store_true",
            dest="everything",
            help="tell of every URL, as after a move to another address",
        )
        parser.add_argument(
            "--engine", action="append", default=[], help="tell this one (default: all)"
        )
        parser.add_argument(
            "--retry",
            action="store_true",
            help="tell parked engines again, and of what they rejected",
        )
        parser.add_argument(
            "--dry-run", action="store_true", help="count, and tell nobody"
        )
        parser.add_argument("--json", action="store_true", help="print JSON only")
        parser.add_argument(
            "--new-key", action="store_true", help="print a new key for IndexNow"
        )

    def execute(self, *args: Any, **options: Any) -> str | None:
        """Run, without the checks if for a new key: one of them asks for a key."""
        options["skip_checks"] = options["skip_checks"] or options["new_key"]
        return super().execute(*args, **options)

    def handle(self, *, new_key: bool, verbosity: int, **asked: Any) -> None:
        """Tell what was asked for.

        Raises:
            CommandError: something was not told, or engines are not told here.
        """
        if new_key:
            self.stdout.write(secrets.token_hex(16))
            return
        begin = timezone.now()
        try:
            report, chosen = self._tell(begin, **asked)
        except (SitemapsPlusError, ImproperlyConfigured) as error:
            raise CommandError(str(error)) from error
        engines = engine_status(get_site())
        if asked["json"]:
            self.stdout.write(_as_json(report, engines, chosen))
        elif verbosity:
            self._show(report, engines, chosen, is_dry_run=asked["dry_run"])
        problems = [*_failures(report, engines), *_problems(engines, asked["engine"])]
        if chosen:
            problems += _paused(engines, asked["engine"])
            problems += _told_by_others(asked["engine"], report, begin)
        if problems and not asked["dry_run"]:
            raise CommandError("\n".join(dict.fromkeys(problems)))

    def _tell(
        self,
        begin: datetime,
        *,
        engine: list[str],
        retry: bool,
        dry_run: bool,
        **chosen: Any,
    ) -> tuple[DeliveryReport, int]:
        site = get_site()
        engines = _engines(site, engine)
        if any([chosen[name] for name in _CHOICES]):
            _check_that_urls_are_taken(engines, is_named=bool(engine))
        total = 0
        # Given by hand, it need not wait for others.
        at = begin - timedelta(seconds=get_settings().notify_delay_seconds)
        for urls in _urls(site, **chosen):
            total += len(urls)
            if not dry_run:
                want_urls(site, urls, at, engines)
        if dry_run:
            return DeliveryReport(), total
        if retry:
            telling.revive(engine)
        wait = get_settings().notify_delay_seconds
        return telling.tell_engines(engine, wait=wait), total

    def _show(
        self,
        report: DeliveryReport,
        engines: list[EngineStatus],
        chosen: int,
        *,
        is_dry_run: bool,
    ) -> None:
        rows = [_row(engine) for engine in engines]
        self.stdout.write(table(("engine", "waiting", "rejected", "last told"), rows))
        if is_dry_run:
            self.stdout.write(f"Nobody was told (--dry-run). {chosen:,} URLs chosen.")
            return
        told = f"{report.sent:,} told in {report.requests:,} requests."
        if report.next_at is not None and report.next_at > timezone.now():
            told += f" The next may be told at {_local(report.next_at)}."
        self.stdout.write(told)


def _engines(site: Site, names: list[str]) -> list[Engine]:
    """Return the engines that are to be told, or raise why none is."""
    engines = telling.chosen(names)
    if not engines:
        faults = [engine.fault for engine in broken_engines()]
        none = "No engines: SITEMAPS_PLUS['ENGINES'] names none."
        raise CommandError(next(iter(faults), none))
    if not tells_engines(site):
        raise CommandError(_WHY_NOT.format(site.origin))
    return engines


#: Arguments that choose URLs.
_CHOICES = ("urls", "section", "since", "everything")


def _urls(
    site: Site,
    *,
    urls: list[str],
    section: list[str],
    since: datetime | None,
    everything: bool,
    **others: Any,
) -> Iterator[list[str]]:
    """Yield the URLs that were chosen, some at a time."""
    for name in section:
        registry.get(name)
    if given := [_as_listed(url, site) for url in urls]:
        yield list(dict.fromkeys(given))
    if section or since or everything:
        yield from listed_urls(site, section, since)


def _as_listed(url: str, site: Site) -> str:
    """Return a URL of the site as ``loc`` would have it."""
    try:
        return absolute_url(url, site.origin)
    except ValueError as error:
        raise CommandError(f"{url!r} cannot be told: {error}") from error


def _failures(report: DeliveryReport, engines: list[EngineStatus]) -> list[str]:
    """Return what failed, but for what engines are parked for: that is a problem."""
    said = {
        f"{engine.engine} for {host}: {why}"
        for engine in engines
        for host, why in engine.parked.items()
    }
    return [failure for failure in report.failures if failure not in said]


def _problems(engines: list[EngineStatus], names: list[str]) -> Iterator[str]:
    """Yield what needs a person, in words."""
    for engine in engines:
        if not names or engine.engine in names:
            yield from engine.problems


def _paused(engines: list[EngineStatus], names: list[str]) -> Iterator[str]:
    """Yield which engines were not told what was chosen, since they failed before."""
    for engine in engines:
        if engine.waiting and (not names or engine.engine in names):
            for host, error in engine.failing.items():
                yield (
                    f"{engine.engine} for {host}: {error.rstrip('.')}. It is tried "
                    "again by itself"
                )


def _told_by_others(
    names: list[str], report: DeliveryReport, begin: datetime
) -> Iterator[str]:
    """Yield which engines were not told all, since another process is at it."""
    # What came since the command began it was not asked for.
    until = begin + timedelta(seconds=get_settings().notify_delay_seconds)
    for engine in telling.chosen(names):
        if telling.is_told_by_another(get_site(), engine, report, until):
            yield (
                f"{engine.name} was not told all that was chosen: another process is "
                "telling it; run again"
            )


def _check_that_urls_are_taken(engines: Sequence[Engine], *, is_named: bool) -> None:
    """Refuse a choice of URLs that an engine, named for it, or all will not take."""
    deaf = [engine.name for engine in engines if engine.takes is not Takes.URLS]
    if deaf and (is_named or len(deaf) == len(engines)):
        raise CommandError(_NO_URLS.format(", ".join(deaf)))


_NO_URLS = (
    "These engines take no URLs, but are told where indexes and feeds are: {}. Run the "
    "command without a choice of URLs for what waits for them, or name others."
)

_WHY_NOT = (
    "Engines are not told: NOTIFY is False, or it is None and this is a test, DEBUG is "
    "on, or {} is no public address. SITEMAPS_PLUS['NOTIFY'] = True forces it."
)


def _local(at: datetime) -> str:
    """Return a time as clocks show it, whether USE_TZ is set or not."""
    local = at if timezone.is_naive(at) else timezone.localtime(at)
    return f"{local:%Y-%m-%d %H:%M:%S}"


def _row(engine: EngineStatus) -> tuple[str, ...]:
    told = f"{engine.sent_at:%Y-%m-%d %H:%M:%S}" if engine.sent_at else "never"
    return engine.engine, f"{engine.waiting:,}", f"{engine.dead:,}", told


def _as_json(report: DeliveryReport, engines: list[EngineStatus], chosen: int) -> str:
    found = {
        "chosen": chosen,
        **asdict(report),
        "engines": [asdict(engine) for engine in engines],
    }
    del found["refused"]  # people read of it in words
    return json.dumps(found, cls=DjangoJSONEncoder)
