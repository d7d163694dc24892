"""Requests of people: they are noted in rows, and builders and workers do the rest."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable
from datetime import timedelta
from functools import partial
from shlex import join
from typing import Any
from urllib.parse import urlsplit

from django.apps import apps
from django.db import router, transaction
from django.db.models import Model
from django.utils import timezone

from django_sitemaps_plus.building.settle import mark_damaged
from django_sitemaps_plus.conf import Site, get_settings
from django_sitemaps_plus.executors.base import usable_executor
from django_sitemaps_plus.models import (
    Delivery,
    EngineHost,
    Exclusion,
    Section,
    Worker,
    own_alias,
)
from django_sitemaps_plus.models.base import atomic
from django_sitemaps_plus.models.exclusions import label_of
from django_sitemaps_plus.notifications.outbox import want_urls
from django_sitemaps_plus.registry import registry
from django_sitemaps_plus.sites import own_sites
from django_sitemaps_plus.sources.keys import as_keys
from django_sitemaps_plus.tracking.recording import notify_changed

from .answers import look


def refresh(site: Site, section: str, **others: Any) -> bool:
    """Have workers look for changes of a section now, and build them.

    They may have no part in the cache that knows which files requests have missed.
    Return whether they have anything to do: a section that is always live has no pages,
    but for those that a build is to remove.
    """
    rows = Section.objects.planned().filter(site=site.name, name=section)
    if section in registry.live() and not rows.exists():
        return False
    mark_damaged(forgets=False)
    _when_committed(partial(usable_executor().wake, section))
    return True


def rebuild(site: Site, section: str, **others: Any) -> bool:
    """Have every page of a section built; return whether it has any."""
    row = Section.objects.filter(site=site.name, name=section).first()
    if row is None:
        return False
    return bool(row.pages.planned().demand(row.pk)) and refresh(site, section)


def release(site: Site, section: str, **others: Any) -> bool:
    """Let the guard pass what it holds of a section; return whether it holds any."""
    rows = Section.objects.filter(site=site.name, name=section)
    held = rows.exclude(hold_reason="").update(may_shrink=True)
    return bool(held) and refresh(site, section)


def has_workers() -> bool:
    """Return whether workers get what is asked for, or one looks for it by itself."""
    seen = any(it.is_there for it in Worker.objects.seen())
    return usable_executor().is_listening or seen


def ask(site: Site, _: str, **others: Any) -> bool:
    """Ask Django for the index now; return whether that could be done."""
    return bool(look(site))


def audit(site: Site, _: str, **others: Any) -> bool:
    """Have workers audit what a site lists; return whether there are some."""
    if usable_executor().audit(site.name):
        return True
    if is_there := has_workers():
        Section.objects.note_of_index(site.name, audit_asked_at=timezone.now())
    return is_there


def pause(site: Site, engine: str, *, by: str, **others: Any) -> bool:
    """Submit nothing more to an engine until somebody resumes it."""
    rows = EngineHost.objects.filter(site=site.name, engine=engine)
    for origin in {own.origin for own in own_sites(site)}:
        EngineHost.objects.get_or_create(
            site=site.name, engine=engine, host=urlsplit(origin).netloc
        )
    paused = {"parked_reason": f"paused by {by}", "not_before": timezone.now()}
    return bool(rows.filter(parked_reason="").update(**paused))


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


def rebuilt(section: str, site: Site) -> dict[str, Any]:
    """Return what has every page of a section built, by a command and by an action."""
    command = command_for("build_sitemaps", site, section, "--full")
    return {"command": command, "action": "rebuild", "subject": section}


def command_for(name: str, site: Site, *arguments: str) -> str:
    """Return what does the work of a request where no worker listens."""
    several = ["--site", site.name] if get_settings().sites is not None else []
    return join(["manage.py", name, *arguments, *several])


def _notify() -> bool:
    _when_committed(partial(usable_executor().notify, timezone.now()))
    return True


def _when_committed(wake: Any) -> None:
    transaction.on_commit(wake, using=own_alias(), robust=True)


def exclude(row: Model, *, by: str, note: str = "") -> bool:
    """Keep a row out of the sitemaps; return whether it was not excluded before."""
    given = {"model": label_of(type(row)), "key": str(row.pk)}
    others = {"by": by[:150], "note": note}
    with atomic():
        found, is_new = Exclusion.objects.get_or_create(**given, defaults=others)
        if is_new:
            _mark([found], router.db_for_write(type(row), instance=row))
    return is_new


def lift(exclusions: Iterable[Exclusion], row: Model | None = None) -> bool:
    """List rows again, or the one that is given; return whether any was excluded."""
    found = list(exclusions)
    alias = None if row is None else router.db_for_write(type(row), instance=row)
    with atomic():
        Exclusion.objects.filter(pk__in=[it.pk for it in found]).delete()
        _mark(found, alias)
    return bool(found)


def _mark(exclusions: Iterable[Exclusion], alias: str | None) -> None:
    """Record that the rows have changed, by which their pages are built again."""
    keys: dict[str, list[str]] = defaultdict(list)
    for exclusion in exclusions:
        keys[exclusion.model].append(exclusion.key)
    for label, texts in keys.items():
        try:
            model: Any = apps.get_model(label)
        except (LookupError, ValueError):
            continue  # it has gone, and its pages with it
        rows = model._base_manager.using(alias or router.db_for_write(model))
        record = partial(notify_changed, rows.filter(pk__in=as_keys(model, texts)))
        if rows.db == own_alias():
            record()
        else:  # or a build might take the change before it sees the exclusion
            transaction.on_commit(record, using=own_alias())
