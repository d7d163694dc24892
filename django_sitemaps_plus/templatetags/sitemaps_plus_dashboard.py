"""``{% load sitemaps_plus_dashboard %}``: how the dashboard writes times."""

from __future__ import annotations

from contextlib import suppress
from datetime import datetime, timedelta
from typing import Any

from django import template
from django.template import Context
from django.template.defaultfilters import floatformat
from django.utils import timezone
from django.utils.formats import date_format
from django.utils.html import format_html
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from django_sitemaps_plus.diagnostics.words import age
from django_sitemaps_plus.notifications.dispatch import KEPT

register = template.Library()
register.filter(age)

#: Numbers that engines report, in the order in which they are shown.
_REPORTED: dict[str, Any] = {
    "submitted": lambda number: _("%s submitted"),
    "indexed": lambda number: _("%s indexed"),
    "errors": lambda number: ngettext("%s error", "%s errors", number),
    "warnings": lambda number: ngettext("%s warning", "%s warnings", number),
}


@register.filter
def bdi(name: object) -> str:
    """Return a name as HTML that keeps its direction, also within a translation."""
    return format_html("<bdi>{}</bdi>", name)


@register.filter
def is_new(moment: datetime) -> bool:
    """Return whether a moment was within the last 24 hours."""
    return timezone.now() - moment < timedelta(hours=24)


@register.filter
def feedback(said: Any) -> str:
    """Return what an engine reports of a feed, in words; what is not known as it is."""
    if not isinstance(said, dict):
        return str(said)
    words, left = [], {**said}
    for name, phrase in _REPORTED.items():
        value = left.pop(name, None)
        if isinstance(value, dict):  # numbers by kind of content
            value = sum([it for it in value.values() if isinstance(it, int)])
        if isinstance(value, int) and (value or name in ("submitted", "indexed")):
            words.append(phrase(value) % floatformat(value, "g"))
    with suppress(KeyError, TypeError, ValueError):
        read_at = datetime.fromisoformat(left.pop("lastDownloaded"))
        words.append(_("read on %s") % date_format(read_at, "DATE_FORMAT"))
    if left.pop("isPending", False):
        words.append(_("not read yet"))
    if error := left.pop("error", ""):
        words.append(_("could not be asked: %s") % error)
    for name in ("lastSubmitted", *KEPT):
        left.pop(name, None)
    return ", ".join([*words, *[f"{name}: {value}" for name, value in left.items()]])


@register.inclusion_tag("sitemaps_plus/admin/_action.html", takes_context=True)
def action(context: Context, name: str, site: str, target: str = "") -> dict[str, Any]:
    """Show the button of an action on a section or an engine, if the user may act."""
    button = context["actions"].get(name)
    return {"action": button, "name": name, "site": site, "target": target}
