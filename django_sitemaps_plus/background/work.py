"""Work: what is done in the background, whoever does it."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from datetime import datetime
from functools import partial
from io import StringIO
from typing import Any, TypeAlias

from django.core.exceptions import ImproperlyConfigured
from django.core.management import CommandError, call_command
from django.db import Error
from django.urls import NoReverseMatch

from django_sitemaps_plus.building.build import build
from django_sitemaps_plus.building.report import BuildReport
from django_sitemaps_plus.conf import get_settings, get_site, get_sites
from django_sitemaps_plus.exceptions import SitemapsPlusError
from django_sitemaps_plus.models import Page
from django_sitemaps_plus.models.claims import BATCH_PAGES
from django_sitemaps_plus.models.sections import owning_site
from django_sitemaps_plus.notifications.dispatch import notify_engines
from django_sitemaps_plus.notifications.submit import DeliveryReport
from django_sitemaps_plus.notifications.url_changes import relay
from django_sitemaps_plus.publishing import prune as pruning
from django_sitemaps_plus.registry import registry
from django_sitemaps_plus.sites import Site, for_each

#: Faults of the app, of the settings, of a database, and of a URLconf without our URLs,
#: as a check says: they end one call, and the next may do better.
FAILURES = (SitemapsPlusError, ImproperlyConfigured, Error, NoReverseMatch)

#: Asks one more worker for :func:`build_sections`, without looking for changes.
CallHelp: TypeAlias = Callable[[list[str]], object]


def build_sections(
    sections: Iterable[str] = (), call_help: CallHelp | None = None, **options: Any
) -> list[BuildReport]:
    """Build sections of all sites for TASK_SECONDS, beside whoever builds as well.

    Names that are not registered are left out: another version of the project may have
    given them. The options are attributes of a build. Whatever is left is for the next
    call, and ``call_help`` asks for one.

    Raises:
        BuildError: a source, the storage or the database failed.
    """
    until = time.monotonic() + get_settings().task_seconds
    work = partial(_build, list(sections), call_help, until, options)
    return [it for it in for_each(shuffled_sites(), work) if it is not None]


def _build(
    sections: list[str],
    call_help: CallHelp | None,
    until: float,
    options: dict[str, Any],
) -> BuildReport | None:
    known = list(registry)
    names = [name for name in sections or known if name in known]
    if not names:
        registry.must_be_whole()
        return None

    def call(sections: list[str], pages: int) -> None:
        """Let other workers take part where there is enough to do."""
        batches = -(-pages // BATCH_PAGES)
        for _ in range(min(batches, _places(sections)) - 1):  # this one builds too
            call_help and call_help(sections)

    if call_help is not None and options.get("notices", True):
        options = {**options, "call_help": call}
    left = until - time.monotonic()
    report = build(names, waits=False, seconds=left, **options)
    relay(until)
    # No call takes for ever: another one goes on, unless enough are at it.
    if call_help and report.unfinished and _places(report.unfinished) > 0:
        call_help(report.unfinished)
    return report


def _places(sections: list[str]) -> int:
    """Return how many more builders sections may have."""
    at_work = Page.objects.count_builders(get_site().name, sections)
    return get_settings().max_builders - at_work


def notify() -> list[DeliveryReport]:
    """Submit to engines of all sites what is due, for TASK_SECONDS.

    Raises:
        ConfigurationError: an engine is broken.
        DatabaseError: the database failed; what was not submitted waits.
    """
    seconds = get_settings().task_seconds
    return for_each(shuffled_sites(), partial(notify_engines, seconds=seconds))


def next_due(reports: Iterable[DeliveryReport]) -> datetime | None:
    """Return when engines take more; None where nothing waits."""
    return min([it.next_at for it in reports if it.next_at is not None], default=None)


def audit_listed(site: str) -> None:
    """Audit what a site lists, as ``check_sitemaps --audit``, for TASK_SECONDS.

    The findings are kept for the dashboard.
    """
    configured = get_settings()
    names = ["--site", site] if configured.sites is not None else []
    limit = f"--seconds={configured.task_seconds}"
    with suppress(CommandError):  # there are findings
        call_command("check_sitemaps", "--audit", limit, *names, stdout=StringIO())


def prune() -> None:
    """Remove files and rows of all sites that are no longer needed.

    Raises:
        StoreError: the storage failed.
    """
    for_each(shuffled_sites(), lambda: pruning.prune(owning_site()))


def shuffled_sites() -> Iterable[Site | None]:
    """Return the sites in any order, since the last ones may be left without time."""
    if get_settings().sites is None:
        return [None]
    sites = get_sites()
    return random.sample(sites, len(sites))
