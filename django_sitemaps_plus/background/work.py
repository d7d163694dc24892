"""Work: what is done in the background, whoever does it."""

from __future__ import annotations

import logging
import random
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from datetime import datetime, timedelta
from io import StringIO
from typing import Any, TypeAlias, TypeVar

from django.core.exceptions import ImproperlyConfigured
from django.core.management import CommandError, call_command
from django.db import Error
from django.urls import NoReverseMatch
from django.utils import timezone

from django_sitemaps_plus.building.build import build
from django_sitemaps_plus.building.report import BuildReport
from django_sitemaps_plus.conf import Site, get_settings
from django_sitemaps_plus.exceptions import SitemapsPlusError
from django_sitemaps_plus.models import INDEX, Page, Section, Worker
from django_sitemaps_plus.models.base import contained
from django_sitemaps_plus.models.claims import BATCH_PAGES
from django_sitemaps_plus.models.sections import owning_site
from django_sitemaps_plus.notifications.dispatch import notify_engines
from django_sitemaps_plus.notifications.submit import DeliveryReport
from django_sitemaps_plus.notifications.url_changes import relay
from django_sitemaps_plus.outages import in_one_line
from django_sitemaps_plus.publishing.prune import is_pruned, prune
from django_sitemaps_plus.registry import registry
from django_sitemaps_plus.sites import for_each, get_site, get_sites

T = TypeVar("T")

logger = logging.getLogger(__name__)

#: Faults of the app, of the settings, of a database, and of a URLconf without our URLs,
#: as a check says: they end one call, and the next may do better.
FAILURES = (SitemapsPlusError, ImproperlyConfigured, Error, NoReverseMatch)

#: Asks one more worker to build known pages of sections; it may raise.
CallHelp: TypeAlias = Callable[[list[str]], object]


def build_sections(
    sections: Iterable[str] = (),
    *,
    call_help: CallHelp | None = None,
    built: Callable[[BuildReport], object] = bool,
    **options: Any,
) -> None:
    """Build sections of all sites for TASK_SECONDS, beside whoever builds as well.

    Args:
        sections: names; none for all that are registered. Others are left out: another
            version of the project may have given them.
        call_help: called where there are many pages, and where the time was too short.
        built: gets the report of each site, which is in force.
        options: attributes of the builds.

    Raises:
        BuildError: a source, the storage or the database failed; other sites are built.
    """
    until, sections = time.monotonic() + get_settings().task_seconds, list(sections)

    def help_out(names: list[str], pages: int) -> None:
        """Let other workers take part where there is enough to do."""
        batches = -(-pages // BATCH_PAGES)
        for _ in range(min(batches, _places(names)) - 1):  # this one builds too
            reach(call_help, names)

    def build_site() -> None:
        known = list(registry)
        names = [name for name in sections or known if name in known]
        if not names:
            registry.must_be_whole()
            return
        helped = call_help is not None and options.get("notices", True)
        report = build(
            names,
            waits=False,
            seconds=until - time.monotonic(),
            call_help=help_out if helped else None,
            **options,
        )
        relay(until)
        built(report)
        # No call takes for ever: another one goes on, unless enough are at it.
        if report.unfinished and _places(report.unfinished) > 0:
            reach(call_help, report.unfinished)

    for_each(shuffled_sites(), build_site)


def _places(sections: list[str]) -> int:
    """Return how many more builders sections may have."""
    at_work = Page.objects.count_builders(get_site().name, sections)
    return get_settings().max_builders - at_work


def reach(ask: Callable[[T], object] | None, argument: T) -> bool:
    """Ask workers for something; return whether they were reached, else log why not."""
    if ask is None:
        return False
    try:
        ask(argument)
        return True
    except Exception as error:  # noqa: BLE001 - whatever the client of a queue raises
        words, extra = in_one_line(error), {"action": "broker_failed"}
        logger.warning(
            "No worker helps, since none was reached: %s", words, extra=extra
        )
        return False


def notify(
    notified: Callable[[DeliveryReport], object], seconds: float | None = None
) -> None:
    """Submit to engines of all sites what is due, for TASK_SECONDS unless told.

    ``notified`` gets the report of each site, which is in force.

    Raises:
        ConfigurationError: an engine is broken.
        DatabaseError: the database failed; what was not submitted waits.
    """
    most = get_settings().task_seconds if seconds is None else seconds
    for_each(shuffled_sites(), lambda: notified(notify_engines(seconds=most)))


def note_worker(kind: str, *, has_ended: bool) -> None:
    """Record that a worker of a kind is there, or has ended; log it if that fails."""
    try:
        with contained():
            Worker.objects.note(kind, has_ended=has_ended)
    except Exception as error:  # noqa: BLE001 - of a router, too; the next is tried
        extra = {"action": "presence_failed"}
        logger.warning("No worker is noted: %s", in_one_line(error), extra=extra)


@contextmanager
def noting_due(
    ask: Callable[[datetime], object],
) -> Iterator[Callable[[DeliveryReport], object]]:
    """Give what takes reports; ask at the end for a call when engines take more."""
    reports: list[DeliveryReport] = []
    try:
        yield reports.append
    finally:
        if times := [it.next_at for it in reports if it.next_at is not None]:
            ask(max(min(times), timezone.now() + timedelta(seconds=1)))


def audit_listed(site: str) -> None:
    """Audit what a site lists, as ``check_sitemaps --audit``, for TASK_SECONDS.

    The findings are kept for the dashboard.
    """
    configured = get_settings()
    names = ["--site", site] if configured.sites is not None else []
    limit = f"--seconds={configured.task_seconds}"
    with suppress(CommandError):  # there are findings
        call_command("check_sitemaps", "--audit", limit, *names, stdout=StringIO())


def asked_audits() -> list[str]:
    """Return the sites that somebody wants to be audited, each to one caller alone."""
    rows = Section.objects.filter(name=INDEX, audit_asked_at__isnull=False)
    sites = rows.values_list("site", flat=True)
    return [
        it for it in list(sites) if rows.filter(site=it).update(audit_asked_at=None)
    ]


def prune_sites(age: timedelta = timedelta()) -> None:
    """Remove files and rows of sites that were not pruned for some time.

    Raises:
        StoreError: the storage failed.
    """
    for_each(
        shuffled_sites(),
        lambda: is_pruned(owning_site(), age) or prune(owning_site()),
    )


def shuffled_sites() -> Iterable[Site | None]:
    """Return the sites in any order, since the last ones may be left without time."""
    if get_settings().sites is None:
        return [None]
    sites = get_sites()
    return random.sample(sites, len(sites))
