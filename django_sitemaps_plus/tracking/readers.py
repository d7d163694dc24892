"""Readers: whether a build or an engine reads the changes of a section."""

from __future__ import annotations

import time
from typing import Any

from django.core.signals import setting_changed
from django.db import Error
from django.dispatch import receiver

from django_sitemaps_plus.conf import SETTING, is_tracking, notifies_engines
from django_sitemaps_plus.models import Section
from django_sitemaps_plus.models.transactions import contained

#: Seconds for which a process takes a section that nothing reads to stay so.
UNREAD_SECONDS = 10

#: Sections whose changes are read, as far as this process knows. A plan that goes is
#: not noticed: what is recorded for it is pruned.
_read: set[str] = set()

#: Until when no other section is, by alias of saved objects and the monotonic clock.
_unread_until: dict[str, float] = {}


def is_read(section: str, using: str) -> bool:
    """Return whether changes on a database are recorded for a section.

    A plan that another process has just made is unknown for up to ten seconds: the
    second rendering of a first plan finds what was saved meanwhile.
    """
    if section in _read:
        return is_tracking()
    if time.monotonic() < _unread_until.get(using, 0.0) or not is_tracking():
        return False
    _ask(section, using)
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


def _ask(section: str, using: str) -> None:
    try:
        with contained():  # contrib.sites may be asked for the origin
            if notifies_engines():
                add(section)
                return
            _read.update(Section.objects.planned().values_list("name", flat=True))
    except Error:  # the database of the change may work: record too much
        add(section)
        return
    _unread_until[using] = time.monotonic() + UNREAD_SECONDS
