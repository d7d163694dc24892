"""Requests of people: they are noted in rows, and builders and workers do the rest."""

from __future__ import annotations

from collections.abc import Collection
from datetime import timedelta
from functools import partial
from shlex import join
from typing import Any
from urllib.parse import urlsplit

from django.db import transaction
from django.db.models import F
from django.utils import timezone

from django_sitemaps_plus.conf import Site, get_settings, own_sites
from django_sitemaps_plus.executors.base import get_executor
from django_sitemaps_plus.models import Delivery, EngineHost, Section, own_alias
from django_sitemaps_plus.models.page_claims import UNTRIED
from django_sitemaps_plus.notifications.outbox import want_urls


def refresh(site: Site, section: str, **others: Any) -> bool:
    """Have workers look for changes of a section now, and build them."""
    _when_committed(partial(get_executor().wake, section))
    return True


def rebuild(site: Site, section: str, **others: Any) -> bool:
    """Have every page of a section built; return whether it has any."""
    row = Section.objects.filter(site=site.name, name=section).first()
    if row is None:
        return False
    pages = row.pages.planned()
    marked = pages.update_locked([row.pk], wanted=F("wanted") + 1, **UNTRIED)
    return bool(marked) and refresh(site, section)


def release(site: Site, section: str, **others: Any) -> bool:
    """Let the guard pass what it holds of a section; return whether it holds any."""
    rows = Section.objects.filter(site=site.name, name=section)
    held = rows.exclude(hold_reason="").update(may_shrink=True)
    return bool(held) and refresh(site, section)


def pause(site: Site, engine: str, *, by: str, **others: Any) -> bool:
    """Submit nothing more to an engine until somebody resumes it."""
    rows = EngineHost.objects.filter(site=site.name, engine=engine)
    for origin in {own.origin for own in own_sites(site)}:
        EngineHost.objects.get_or_create(
            site=site.name, engine=engine, host=urlsplit(origin).netloc
        )
    return bool(rows.filter(parked_reason="").update(parked_reason=f"paused by {by}"))


def resume(site: Site, engine: str, **others: Any) -> bool:
    """Submit to an engine again, whoever or whatever has parked it."""
    rows = EngineHost.objects.filter(site=site.name, engine=engine)
    return bool(rows.retry()) and _notify()


def retry(site: Site, engine: str, **others: Any) -> bool:
    """Submit again what an engine has rejected; return whether it has any."""
    return bool(Delivery.objects.of(site.name, engine).retry()) and _notify()


def submit(site: Site, engine: str, urls: Collection[str], **others: Any) -> bool:
    """Submit URLs to every engine that takes some."""
    # URLs that are given by hand need not wait.
    delay = timedelta(seconds=get_settings().notify_delay_seconds)
    want_urls(urls, timezone.now() - delay)
    return _notify()


def command_for(name: str, site: Site, *arguments: str) -> str:
    """Return what does the work of a request where no worker listens."""
    several = ["--site", site.name] if get_settings().sites is not None else []
    return join(["manage.py", name, *arguments, *several])


def _notify() -> bool:
    _when_committed(partial(get_executor().notify, timezone.now()))
    return True


def _when_committed(wake: Any) -> None:
    transaction.on_commit(wake, using=own_alias(), robust=True)
