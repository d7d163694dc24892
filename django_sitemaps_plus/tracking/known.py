"""Knowledge of a process that saves: which sections are read, and what they list."""

from __future__ import annotations

import time
from contextlib import suppress
from typing import Any

from django.apps import apps
from django.core.signals import setting_changed
from django.db import Error
from django.db.models import Model
from django.dispatch import receiver

from django_sitemaps_plus.conf import SETTING, is_tracking
from django_sitemaps_plus.models import Section
from django_sitemaps_plus.models.base import contained
from django_sitemaps_plus.models.clock import Now
from django_sitemaps_plus.registry import registry
from django_sitemaps_plus.section import OpenSection
from django_sitemaps_plus.sites import notifies_engines
from django_sitemaps_plus.sources import SitemapSource

#: Seconds for which a process takes a section that nothing reads to stay so.
UNREAD_SECONDS = 10

#: Sections whose changes are read, as far as this process knows. A plan that goes is
#: not noticed: what is recorded for it is pruned.
_read: set[str] = set()

#: Until when no other section is, by alias of saved objects and the monotonic clock.
_unread_until: dict[str, float] = {}

#: Seconds after which a process asks again for what is not known yet.
PAUSE_SECONDS = 10.0

_asked_at = -PAUSE_SECONDS  # by the monotonic clock


def is_read(section: str, using: str) -> bool:
    """Return whether changes on a database are recorded for a section.

    A plan that another process has just made is unknown for up to ten seconds: the
    second rendering of a first plan finds what was saved meanwhile.
    """
    if section in _read:
        return is_tracking()
    if time.monotonic() < _unread_until.get(using, 0.0) or not is_tracking():
        return False
    try:
        with contained():  # contrib.sites may be asked for the origin
            is_notified = notifies_engines()
            planned = Section.objects.planned().values_list("name", flat=True)
            names = [section] if is_notified else list(planned)
    except Error:  # the database of the change may work: record too much
        add(section)
        return True
    _read.update(names)
    if not is_notified:
        _unread_until[using] = time.monotonic() + UNREAD_SECONDS
    return section in _read


def add(section: str) -> None:
    """Note that a section has a plan."""
    _read.add(section)


@receiver(setting_changed)
def forget(*, setting: str = SETTING, **kwargs: Any) -> None:
    """Know of no section, like a process that has just begun."""
    if setting == SETTING:
        _read.clear()
        _unread_until.clear()


def note_models(section: OpenSection, *, is_new: bool) -> None:
    """Note for all processes what a class lists, which is asked once a deploy."""
    row, source = section.row, section.source
    if not isinstance(source, SitemapSource):
        return
    models = None if is_new else _models(row.listed_models)
    if models is None:  # or does not say it yet: a list may be empty
        models = source.listed_models()
        labels = None if models is None else ",".join(m._meta.label for m in models)
        if labels != row.listed_models:
            row.listed_models = labels
            # Saves were not recorded: the grace begins anew.
            noted = {"listed_models": labels, "new_since": Now()}
            Section.objects.filter(pk=row.pk).update(**noted)
    if models not in (None, source.models):
        source.models = models
        registry.changed()


def unknown_sections() -> dict[str, SitemapSource]:
    """Return the sections of which this process does not know what they list."""
    return {
        name: source
        for name, source in registry.items()
        if isinstance(source, SitemapSource) and source.models is None
    }


def learn() -> set[str]:
    """Learn what builds have noted, unless asked of late; return sections now known."""
    global _asked_at
    now = time.monotonic()
    if now < _asked_at + PAUSE_SECONDS or not is_tracking():
        return set()
    _asked_at = now
    sections = unknown_sections()
    # No build can be where our tables are missing or out of reach.
    with suppress(Exception), contained():
        rows = Section.objects.filter(name__in=sections, listed_models__isnull=False)
        for name, labels in rows.values_list("name", "listed_models"):
            sections[name].models = _models(labels)
        if learned := sections.keys() - unknown_sections():
            registry.changed()
        return learned
    return set()


def _models(labels: str | None) -> tuple[type[Model], ...] | None:
    try:
        names = filter(None, (labels or "").split(","))
        return None if labels is None else tuple(map(apps.get_model, names))
    except LookupError:  # of other code
        return None
