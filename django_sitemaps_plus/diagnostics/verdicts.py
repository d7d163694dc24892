"""Verdicts: whether sitemaps are complete, up to date and told, or it is unknown."""

from __future__ import annotations

from collections.abc import Sequence

from django.template.defaultfilters import floatformat
from django.utils.translation import gettext as _

from django_sitemaps_plus import cache
from django_sitemaps_plus.conf import in_force
from django_sitemaps_plus.sites import silence_reason

from .problems import Problem
from .status import SectionStatus, SiteStatus
from .words import shortened

#: Problems of a section which does not list all that it should.
_INCOMPLETE = (
    "section_failed",
    "section_unavailable",
    "section_held",
    "section_empty",
    "section_unregistered",
)


def updating(done: int, planned: int) -> str:
    """Return how far a build is."""
    numbers = {"done": floatformat(done, "g"), "planned": floatformat(planned, "g")}
    return _("Updating %(done)s of %(planned)s") % numbers


def worst(problems: Sequence[Problem], *ids: str) -> tuple[str, str] | None:
    """Return the level and words of the worst problem whose id begins so, if any."""
    found = [it for it in problems if it.id.startswith(ids)]
    if not found:
        return None
    first = min(found, key=lambda it: it.level != "error")
    words = f"{shortened(first.subject)}: {first.message}"
    if len(found) > 1:
        more = _("and %s more") % floatformat(len(found) - 1, "g")
        words = f"{words} ({more})"
    return first.level, words


def left_out(sections: Sequence[SectionStatus]) -> str:
    """Return how much of what should be listed sections leave out; "" for nothing."""
    counted = (
        (_("Rows left out: %s"), sum([it.skipped for it in sections])),
        (_("Values left out: %s"), sum([it.dropped for it in sections])),
    )
    return ", ".join([words % floatformat(it, "g") for words, it in counted if it])


def of_section(status: SectionStatus, problems: Sequence[Problem]) -> tuple[str, str]:
    """Return how a section is in one word and in several; the word may be ""."""
    if problems:
        return "error", " ".join([it.message for it in problems])
    if status.building:
        return "busy", updating(status.done, status.planned)
    if status.dirty or status.changes:
        return "warning", _("Waiting for a build")
    if words := left_out([status]):
        return "warning", words
    if status.live:
        return "", _("Served live")
    return "ok", _("Nothing waits for a build")


def complete(status: SiteStatus, problems: Sequence[Problem]) -> tuple[str, str]:
    """Return whether all that can be listed is listed: a state, and why."""
    index = "index_failed", "index_incomplete"
    if found := worst(problems, "origin_", *index, *_INCOMPLETE, "pages_"):
        return found
    if not status.sections:
        return "warning", _("No section is registered")
    if words := left_out(status.sections):
        return "warning", words
    if live := [it.section for it in status.sections if it.live]:
        words = _("Never counted, since these sections are served live: %s")
        return "unknown", words % shortened(", ".join(live))
    if status.dirty or status.changes:
        return "unknown", _("Known once a build has made what waits")
    return "ok", _("Every row that can be listed is listed")


def fresh(
    status: SiteStatus, problems: Sequence[Problem], answers: str
) -> tuple[str, str]:
    """Return whether nothing waits; ``answers`` is the state of Django's answer."""
    ids = ("section_overdue", "section_damaged", "section_unavailable")
    if found := worst(problems, "origin_", "index_failed", *ids):
        return found
    if failed := [it.subject for it in problems if it.id == "section_failed"]:
        return "unknown", _("Not known, since builds fail: %s") % ", ".join(failed)
    if any(it.builders for it in status.sections):
        done = sum([it.done for it in status.sections])
        planned = sum([it.planned for it in status.sections])
        return "busy", updating(done, planned)
    if found := worst(problems, "pages_"):
        return found
    if status.dirty or status.changes:
        words = _("Waiting for a build: pages: %(pages)s, changes: %(changes)s")
        numbers = {"pages": status.dirty, "changes": status.changes}
        shown = {key: floatformat(it, "g") for key, it in numbers.items()}
        return "warning", words % shown
    if not status.sections:
        return "unknown", _("No section is registered")
    if failed := [it.section for it in status.sections if it.live_fault]:
        words = _("Not known, since the last requests met errors: %s")
        return "unknown", words % ", ".join(failed)
    if any(it.live for it in status.sections) and not cache.is_shared():
        words = _("Served live: the cache does not tell what other processes meet")
        return "unknown", words
    if status.is_live:
        state = "ok" if answers == "ok" else "unknown"
        return state, _("Served live, since nothing is built")
    return "ok", _("Nothing waits for a build")


def told(status: SiteStatus, problems: Sequence[Problem]) -> tuple[str, str]:
    """Return whether engines take what is submitted to them."""
    silence = status.silence
    if not status.engines:
        with in_force(status.site):
            silence = silence_reason()
    if found := worst(problems, "engine_"):
        return found
    if silence:
        return "warning", _("Engines are not notified: %s") % silence
    if failing := [it.engine for it in status.engines if it.failing]:
        return "warning", _("Tried again after a failure: %s") % ", ".join(failing)
    if not any(it.sent_at for it in status.engines):
        return "unknown", _("Nothing was submitted yet")
    accepted = sum([it.accepted for it in status.engines])
    return "ok", _("Accepted in 24 hours: %s") % floatformat(accepted, "g")
