"""The plots: what builds and deliveries came to, hour by hour."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from typing import Any

from django.contrib.admin import AdminSite
from django.http import Http404, HttpRequest, HttpResponse
from django.template.defaultfilters import floatformat
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from django_sitemaps_plus.maintenance.history import (
    OTHERS,
    RANGES,
    History,
    Values,
    read_history,
)
from django_sitemaps_plus.sites import in_force
from django_sitemaps_plus.templatetags.sitemaps_plus_dashboard import seconds

from .pages import chosen_site, known_sites, show


@dataclass(frozen=True, slots=True)
class Chart:
    """Numbers that are plotted together, and listed in a table beneath."""

    name: str
    title: str
    lines: dict[str, Values]
    hint: str  # what makes data appear
    unit: str = ""  # or "seconds"
    note: str = ""
    times: list[datetime] = field(kw_only=True)

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to plot."""
        return not any(value for values in self.lines.values() for value in values)

    @property
    def rows(self) -> list[tuple[Any, ...]]:
        """Each time with its numbers, the newest first."""
        return [*zip(self.times, *self.lines.values(), strict=True)][::-1]

    @property
    def latest(self) -> str:
        """The latest number of each line, in words."""
        written = seconds if self.unit else partial(floatformat, arg="-1g")
        found = []
        for name, values in self.lines.items():
            known = [value for value in values if value is not None]
            found += [f"{name}: {written(value)}" for value in known[-1:]]
        return ", ".join(found)


@require_safe
def plots(request: HttpRequest, admin_site: AdminSite) -> HttpResponse:
    """Show the plots of a site, each with its numbers beneath."""
    sites, fault = known_sites(request)
    context: dict[str, Any] = {"sites": sites, "fault": fault, "ranges": RANGES}
    if sites:
        site = chosen_site(request)
        span = request.GET.get("range") or "24h"
        section = request.GET.get("section", "")
        if span not in RANGES:
            raise Http404("No such range")
        with in_force(site):
            history = read_history(site, span, section)
        if section and section not in history.sections:
            raise Http404("No such section")
        charts = [*_build_charts(history), *_delivery_charts(history, section, span)]
        context |= {"site": site, "span": span, "section": section}
        context |= {"history": history, "charts": charts}
    return show(request, admin_site, "plots", "plots.html", **context)


def _build_charts(history: History) -> Iterator[Chart]:
    """Make the charts of builds; each has one scale, so pages and seconds have two."""
    chart = partial(Chart, times=history.times)
    hint = _("Nothing yet: each build that renders a page adds to it.")
    names = {OTHERS: _("All others")}
    entries = {names.get(it, it): values for it, values in history.entries.items()}
    pages, time = {_("Pages"): history.pages}, {_("Seconds"): history.seconds}
    yield chart("entries", _("Entries"), entries, hint)
    yield chart("pages", _("Pages per build"), pages, hint)
    yield chart("seconds", _("Seconds per build"), time, hint, "seconds")


def _delivery_charts(history: History, section: str, span: str) -> Iterator[Chart]:
    chart = partial(Chart, times=history.times)
    hint = _("Nothing yet: each submission to an engine adds to it.")
    note = _("Of all sections, since engines know none.") if section else ""
    title = _("Deliveries per 6 hours") if span == "30d" else _("Deliveries per hour")
    outcomes = {
        _("Accepted"): history.accepted,
        _("Rejected"): history.rejected,
        _("Failed, tried again"): history.failed,
    }
    yield chart("deliveries", title, outcomes, hint, "", note)
    title = _("Delay from commit to delivery")
    delays = {_("Median"): history.delay_median, _("95 %"): history.delay_p95}
    yield chart("delays", title, delays, hint, "seconds", note)
