"""The overview and the problems: whether sitemaps are complete, fresh and taken up."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

from django.contrib.admin import AdminSite
from django.http import HttpRequest, HttpResponse
from django.template.defaultfilters import filesizeformat, floatformat
from django.urls import NoReverseMatch
from django.utils.translation import get_language
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from django_sitemaps_plus.conf import Site, in_force
from django_sitemaps_plus.diagnostics.problems import Problem, problems_of, shortened
from django_sitemaps_plus.diagnostics.requests import has_workers
from django_sitemaps_plus.diagnostics.section_pages import read_audits, read_trends
from django_sitemaps_plus.diagnostics.site_problems import read_problems
from django_sitemaps_plus.diagnostics.status import (
    SectionStatus,
    SiteStatus,
    read_dashboard,
)
from django_sitemaps_plus.exceptions import ConfigurationError
from django_sitemaps_plus.executors.base import get_executor
from django_sitemaps_plus.models import Worker
from django_sitemaps_plus.notifications.configuration import broken_engines
from django_sitemaps_plus.site_urls import index_url
from django_sitemaps_plus.templatetags.sitemaps_plus_dashboard import age

from .actions import allowed_actions
from .pages import known_sites, named_objects, seen_problems, show
from .sections import Trend, drawn


class Verdict(NamedTuple):
    """An answer to one of the questions about a site."""

    name: str
    state: str  # ok, busy, warning, error or unknown
    words: str
    url: str = ""  # where there is more


@dataclass(frozen=True, slots=True)
class SectionRow:
    """A section as the overview lists it."""

    status: SectionStatus
    problems: Sequence[Problem]
    trend: Trend | None  # of its entries; None where no build has recorded any

    @property
    def change(self) -> float:
        """Entries that came in, or went, since the day before."""
        before = self.trend.values[-2] if self.trend else None
        return 0 if before is None else self.status.entries - before

    @property
    def state(self) -> tuple[str, str]:
        """How it is, as a class of colours and in words."""
        status = self.status
        if self.problems:
            return "error", " ".join([it.message for it in self.problems])
        if status.building:
            return "busy", updating(status.done, status.planned)
        if status.dirty or status.changes:
            return "warning", _("Waiting for a build")
        if status.skipped:
            rows = floatformat(status.skipped, "g")
            return "warning", _("Rows left out: %s") % rows
        return ("", _("Served live")) if status.live else ("ok", _("Up to date"))


@require_safe
def overview(
    request: HttpRequest, admin_site: AdminSite, template: str = "overview.html"
) -> HttpResponse:
    """Show every site with its sections and engines; or the parts of it that move."""
    state = _state(request, admin_site)
    return show(request, admin_site, "changelist", template, **state)


def updating(done: int, planned: int) -> str:
    """Return how far a build is."""
    numbers = {"done": floatformat(done, "g"), "planned": floatformat(planned, "g")}
    return _("Updating %(done)s of %(planned)s") % numbers


def _state(request: HttpRequest, admin_site: AdminSite) -> dict[str, Any]:
    sites, fault = known_sites(request)
    shown, found = [], list[tuple[Site, Problem]]()
    for status in read_dashboard(sites):
        known = problems_of(status, language=get_language())
        problems = seen_problems(request, admin_site, known)
        found += [(status.site, it) for it in problems]
        own = defaultdict[tuple[bool, str], list[Problem]](list)
        for problem in problems:
            own[problem.id.startswith("engine_"), problem.subject].append(problem)
        values = read_trends(status.site).items()
        trends = {section: Trend(_("Entries"), it) for section, it in values}
        origin = [it for it in problems if it.id == "origin_differs"]
        sections = [
            SectionRow(it, origin + own[False, it.section], trends.get(it.section))
            for it in status.sections
        ]
        engines = [(it, own[True, it.engine]) for it in status.engines]
        site, name = status.site, status.site.name
        links = [f"{site.origin}{site.script_prefix}sitemap.xml"]
        with suppress(NoReverseMatch):
            links = [index_url(site)]
        links.append(f"{site.origin}/robots.txt")
        answers = _answering(status, problems)
        fresh = _fresh(status, problems, answers[0])
        verdicts = [
            Verdict(_("Django answers"), *answers, links[0]),
            Verdict(_("Complete"), *_complete(status, problems), "problems/"),
            Verdict(_("Up to date"), *fresh, f"#sections-{name}"),
            Verdict(_("Engines told"), *_told(status, problems), f"#engines-{name}"),
        ]
        steps = first_steps(status, answers, links) if status.is_live else []
        shown.append((status, verdicts, steps, sections, engines, links))
    # The worst comes first: an error before a warning, in the order of the probes.
    found.sort(key=lambda it: it[1].level != "error")
    return {
        "sites": shown,
        "fault": fault,
        "worst": found[0] if found else None,
        "others": len(found) - 1,
        "are_many": len(sites) > 1,
        "actions": allowed_actions(request.user),
    }


def first_steps(
    status: SiteStatus, answers: tuple[str, str], links: Sequence[str]
) -> list[Verdict]:
    """Return what a site needs of which nothing is built, and whether it has it."""
    names = ", ".join([it.section for it in status.sections])
    engines = ", ".join([it.engine for it in status.engines])
    has_report = any([it.feedback for it in status.engines])
    line = _("See that it has the line: %s") % f"Sitemap: {links[0]}"
    register = _("Register a source in a module named sitemaps.")
    engine = _("Set ENGINES, or leave it: crawlers find sitemaps by robots.txt too.")
    submit = _("Submit the address of the sitemap there: %s") % links[0]
    seen = ", ".join([it.kind for it in status.workers if it.is_there])
    if seen:
        seen = _("Workers that were seen: %s") % seen
    elif status.last_build_at:
        seen = _("A build looked for changes: %s") % age(status.last_build_at)
    build = _("What is served live needs none. To build, run run_sitemaps, or cron.")
    with suppress(ConfigurationError):
        if get_executor().is_listening:
            build = _("None was seen: start a worker, then “Ask the workers” below.")
    live = _("All is served live, which is enough for a small site.")
    is_served = names and answers[0] == "ok"
    steps = (  # each with its words if it is done, else its state and words
        (_("Builds"), is_served and live, "unknown", live),
        (_("Sections"), names, "error", register),
        (_("Cron or workers"), seen, "unknown", build),
        ("robots.txt", "", "unknown", line),  # nobody has asked for it
        (_("Search engines"), engines, "warning", engine),
        ("Google Search Console", has_report and " ", "unknown", submit),
    )
    return [
        Verdict(_("Reachable"), *answers, links[0]),
        *[
            Verdict(name, "ok" if done else state, shortened(done or words))
            for name, done, state, words in steps
        ],
    ]


@require_safe
def workers(request: HttpRequest, admin_site: AdminSite) -> HttpResponse:
    """Ask the workers, which takes some seconds, and show what they say."""
    state, words = "ok", list[str]()
    try:
        executor = get_executor()
        seen = [
            (it, f"{it.kind} {_('last seen %(age)s') % {'age': age(it.seen_at)}}")
            for it in Worker.objects.seen()
        ]
        there = [said for it, said in seen if it.is_there]
        ended = [said for it, said in seen if it.has_ended]
        if gone := [said for it, said in seen if it.is_missed]:
            state, words = "error", gone
        elif not executor.is_listening:
            none = _("No workers: commands alone build and notify.")
            state, words = ("ok", there) if there else ("warning", [none, *ended])
        elif (faults := executor.worker_faults()) is None:
            none = _("Not known: these workers cannot be asked.")
            state, words = ("ok", there) if there else ("unknown", [none, *ended])
        elif words := [f"{fault} {remedy}" for fault, remedy in faults]:
            state = "error"
        else:
            words = [_("Workers that answer: %s") % ", ".join(executor.workers())]
    except Exception as error:  # noqa: BLE001 - whatever the broker's client raises
        state = "error"
        words = [
            _("The broker, by which workers get their tasks, does not answer (%s)")
            % type(error).__name__
        ]
    verdicts = [Verdict(_("Workers"), state, " ".join(words))]
    context = {"verdicts": verdicts, "subtitle": _("Workers")}
    return show(request, admin_site, "changelist", "workers.html", **context)


def _worst(problems: Sequence[Problem], *ids: str) -> tuple[str, str] | None:
    """Return the level and words of the worst problem whose id begins so, if any."""
    found = [it for it in problems if it.id.startswith(ids)]
    if not found:
        return None
    worst = min(found, key=lambda it: it.level != "error")
    words = f"{worst.subject}: {worst.message}"
    if len(found) > 1:
        more = _("and %s more") % floatformat(len(found) - 1, "g")
        words = f"{words} ({more})"
    return worst.level, words


def _answering(status: SiteStatus, problems: Sequence[Problem]) -> tuple[str, str]:
    if found := _worst(problems, "origin_", "index_unavailable", "index_empty"):
        return found
    if (answer := status.answer) is None:
        return "unknown", _("Django was not asked for the sitemap yet")
    words = _("%(status)s, %(size)s in %(seconds)s s, asked %(age)s")
    shown = {
        "status": answer.status or _("no answer"),
        "size": filesizeformat(answer.size),
        "seconds": floatformat(answer.seconds, 2),
        "age": age(answer.looked_at),
    }
    return "ok" if answer.is_known else "unknown", words % shown


def _complete(status: SiteStatus, problems: Sequence[Problem]) -> tuple[str, str]:
    ids = ("section_failed", "section_unavailable", "section_held", "section_empty")
    if found := _worst(problems, "origin_", "index_failed", *ids, "pages_"):
        return found
    if not status.sections:
        return "warning", _("No section is registered")
    if skipped := sum([it.skipped for it in status.sections]):
        return "warning", _("Rows left out: %s") % floatformat(skipped, "g")
    if dropped := sum([it.dropped for it in status.sections]):
        return "warning", _("Values left out: %s") % floatformat(dropped, "g")
    if live := [it.section for it in status.sections if it.live]:
        words = _("Never counted, since these sections are served live: %s")
        return "unknown", words % shortened(", ".join(live))
    return "ok", _("Every row that can be listed is listed")


def _fresh(
    status: SiteStatus, problems: Sequence[Problem], answers: str
) -> tuple[str, str]:
    ids = ("section_overdue", "section_damaged", "section_unavailable")
    if found := _worst(problems, "origin_", "index_failed", *ids):
        return found
    if failed := [it.subject for it in problems if it.id == "section_failed"]:
        return "unknown", _("Not known, since builds fail: %s") % ", ".join(failed)
    if any(it.builders for it in status.sections):
        done = sum([it.done for it in status.sections])
        planned = sum([it.planned for it in status.sections])
        return "busy", updating(done, planned)
    if found := _worst(problems, "pages_"):
        return found
    if status.dirty or status.changes:
        words = _("Waiting for a build: pages: %(pages)s, changes: %(changes)s")
        numbers = {"pages": status.dirty, "changes": status.changes}
        shown = {key: floatformat(it, "g") for key, it in numbers.items()}
        return "warning", words % shown
    if not status.sections:
        return "unknown", _("No section is registered")
    if status.is_live:
        state = "ok" if answers == "ok" else "unknown"
        return state, _("Served live, since nothing is built")
    return "ok", _("Nothing waits for a build")


def _told(status: SiteStatus, problems: Sequence[Problem]) -> tuple[str, str]:
    if not status.engines:
        return "warning", _("No engine is configured")
    if found := _worst(problems, "engine_"):
        return found
    if status.silence:
        return "warning", _("Engines are not notified: %s") % status.silence
    if failing := [it.engine for it in status.engines if it.failing]:
        return "warning", _("Tried again after a failure: %s") % ", ".join(failing)
    with in_force(status.site):
        lacking = [str(it.name) for it in broken_engines()]  # a worker may have its key
    if lacking:
        words = _("Not known of those that this process cannot use: %s")
        return "unknown", words % ", ".join(lacking)
    accepted = sum([it.accepted for it in status.engines])
    return "ok", _("Accepted in 24 hours: %s") % floatformat(accepted, "g")


@require_safe
def problems(request: HttpRequest, admin_site: AdminSite) -> HttpResponse:
    """Show rows that are left out, findings, and what is parked."""
    sites, fault = known_sites(request)
    statuses = read_dashboard(sites)
    names = partial(named_objects, request, admin_site)
    found = [read_problems(status, names) for status in statuses]
    audits = [read_audits(it.site) for it in found]
    seen = partial(seen_problems, request, admin_site)
    for it in found:
        it.kinds = [replace(kind, problems=seen(kind.problems)) for kind in it.kinds]
    kinds = [kind for it in found for kind in it.kinds]
    apart = ("rows", "findings")  # no monitor counts them
    context = {
        "sites": [
            (it, drawn([Trend(_("Findings of the audit"), values)]) if values else {})
            for it, values in zip(found, audits, strict=True)
        ],
        "has_workers": has_workers(),
        "fault": fault,
        "are_many": len(sites) > 1,
        "number": sum([len(it.problems) for it in kinds if it.name not in apart]),
        "is_well": not fault and not kinds,
        "is_known": all(it.is_known for it in statuses),
        "actions": allowed_actions(request.user),
    }
    return show(request, admin_site, "problems", "problems.html", **context)
