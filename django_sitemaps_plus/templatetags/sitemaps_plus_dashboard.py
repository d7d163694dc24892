"""``{% load sitemaps_plus_dashboard %}``: how the dashboard writes times."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from django import template
from django.template import Context
from django.utils import timezone
from django.utils.timesince import timesince
from django.utils.translation import gettext as _
from django.utils.translation import ngettext_lazy

register = template.Library()

# Whole phrases, since "3 days" has another form in "3 days ago" in some languages.
_AGO: dict[str, Any] = {
    "year": ngettext_lazy("%(num)d year ago", "%(num)d years ago", "num"),
    "month": ngettext_lazy("%(num)d month ago", "%(num)d months ago", "num"),
    "week": ngettext_lazy("%(num)d week ago", "%(num)d weeks ago", "num"),
    "day": ngettext_lazy("%(num)d day ago", "%(num)d days ago", "num"),
    "hour": ngettext_lazy("%(num)d hour ago", "%(num)d hours ago", "num"),
    "minute": ngettext_lazy("%(num)d minute ago", "%(num)d minutes ago", "num"),
}


@register.filter
def age(moment: datetime | None) -> str:
    """Return how long ago a moment was, in one unit; a dash for None."""
    if moment is None:
        return "\N{EN DASH}"
    if timezone.now() - moment < timedelta(minutes=1):
        return _("just now")
    return timesince(moment, time_strings=_AGO, depth=1)


@register.inclusion_tag("sitemaps_plus/admin/_action.html", takes_context=True)
def action(context: Context, name: str, site: str, target: str = "") -> dict[str, Any]:
    """Show the button of an action on a section or an engine, if the user may act."""
    button = context["actions"].get(name)
    return {"action": button, "name": name, "site": site, "target": target}
