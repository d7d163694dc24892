"""The overview and the problems: whether sitemaps are complete, fresh and taken up."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from django.contrib.admin import AdminSite
from django.http import HttpRequest, HttpResponse
from django.template.defaultfilters import filesizeformat, floatformat
from django.urls import NoReverseMatch
from django.utils.translation import get_language
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from django_sitemaps_plus.conf import DEFAULT_SITE, Site, in_force, setting_name
from django_sitemaps_plus.diagnostics import doctor, verdicts
from django_sitemaps_plus.diagnostics.problems import Problem, problems_of
from django_sitemaps_plus.diagnostics.requests import has_workers
from django_sitemaps_plus.diagnostics.section_pages import read_audits, read_trends
from django_sitemaps_plus.diagnostics.site_problems import read_problems
from django_sitemaps_plus.diagnostics.status import (
    SectionStatus,
    SiteStatus,
    read_dashboard,
)
from django_sitemaps_plus.diagnostics.words import age, shortened
from django_sitemaps_plus.executors.base import get_executor, usable_executor
from django_sitemaps_plus.site_urls import index_url

from .actions import allowed_actions
from .pages import Viewer, known_sites, show
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
        return verdicts.of_section(self.status, self.problems)


@require_safe
def overview(request: HttpRequest, admin_site: AdminSite) -> HttpResponse:
    """Show every site with its sections and engines."""
    state = _state(request, admin_site)
    return show(request, admin_site, "changelist", "overview.html", **state)


@require_safe
def running(request: HttpRequest, admin_site: AdminSite) -> HttpResponse:
    """Show the parts of the overview that move."""
    state = _state(request, admin_site)
    return show(request, admin_site, "changelist", "running.html", **state)


def _state(request: HttpRequest, admin_site: AdminSite) -> dict[str, Any]:
    sites, fault = known_sites(request)
    shown, found = [], list[tuple[Site, Problem]]()
    for status in read_dashboard(sites):
        known = problems_of(status, language=get_language())
        problems = Viewer(request, admin_site).problems(known)
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
        fresh = verdicts.fresh(status, problems, answers[0])
        told = verdicts.told(status, problems)
        questions = [
            Verdict(_("Django answers"), *answers, links[0]),
            Verdict(_("Complete"), *verdicts.complete(status, problems), "problems/"),
            Verdict(_("Up to date"), *fresh, f"#sections-{name}"),
            Verdict(_("Engines told"), *told, f"#engines-{name}"),
        ]
        steps = first_steps(status, answers, links) if status.is_live else []
        shown.append((status, questions, steps, sections, engines, links))
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
    line = _("See that it has the line: %s") % f"Sitemap: {links[0]}"
    is_named = status.answer.is_named if status.answer and status.is_known else None
    named = "unknown" if is_named is None else "error"
    has_report = any([it.feedback for it in status.engines])
    register = _("Register a source in a module named sitemaps.")
    engine = _("Set %s, or leave it: crawlers find sitemaps by robots.txt too.")
    with in_force(status.site):
        engine %= setting_name("ENGINES")
    submit = _("Submit the address of the sitemap there: %s") % links[0]
    if seen := ", ".join([it.kind for it in status.workers if it.is_there]):
        seen = _("Workers that were seen: %s") % seen
    elif status.last_build_at:
        seen = _("A build looked for changes: %s") % age(status.last_build_at)
    build = how = _(
        "What is served live needs none. To build, run run_sitemaps, or cron."
    )
    if usable_executor().is_listening:
        build = _("None was seen: start a worker, then “Ask the workers” below.")
    live = _("All is served live, which is enough for a small site.")
    is_served = names and answers[0] == "ok"
    is_served = is_served and not any(it.live_fault for it in status.sections)
    steps = (  # each with its words if it is done, else its state and words
        (_("Builds"), is_served and live, "unknown", how),
        (_("Sections"), names, "error", register),
        (_("Cron or workers"), seen, "unknown", build),
        ("robots.txt", is_named and _("It names the sitemap."), named, line),
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
    states: dict[bool | None, str] = {True: "ok", False: "error"}
    try:
        states[None] = "unknown" if get_executor().is_listening else "warning"
        found = [
            Verdict(_("Workers"), states[it.ok], f"{it.text} {it.remedy}".rstrip())
            for it in doctor.workers(Site(DEFAULT_SITE, ""))
        ]
    except Exception as error:  # noqa: BLE001 - whatever the broker's client raises
        words = _("The broker, by which workers get their tasks, does not answer (%s)")
        found = [Verdict(_("Workers"), "error", words % type(error).__name__)]
    context = {"verdicts": found, "subtitle": _("Workers")}
    return show(request, admin_site, "changelist", "workers.html", **context)


def _answering(status: SiteStatus, problems: Sequence[Problem]) -> tuple[str, str]:
    ids = ("origin_", "index_unavailable", "index_empty", "index_disallowed")
    if found := verdicts.worst(problems, *ids):
        return found
    if not (answer := status.answer) or not answer.url:  # no URL of ours
        words = _("Django was not asked for the sitemap yet")
        return "unknown", shortened(answer.said) if answer else words
    words = _("%(status)s, %(size)s in %(seconds)s s, asked %(age)s")
    shown = {
        "status": answer.status or _("no answer"),
        "size": filesizeformat(answer.size),
        "seconds": floatformat(answer.seconds, 2),
        "age": age(answer.looked_at),
    }
    return "ok" if answer.is_known else "unknown", words % shown


@require_safe
def problems(request: HttpRequest, admin_site: AdminSite) -> HttpResponse:
    """Show rows that are left out, findings, and what is parked."""
    sites, fault = known_sites(request)
    statuses, viewer = read_dashboard(sites), Viewer(request, admin_site)
    found = [read_problems(status, viewer.names) for status in statuses]
    audits = [read_audits(it.site) for it in found]
    for it in found:
        it.kinds = [
            replace(kind, problems=viewer.problems(kind.problems)) for kind in it.kinds
        ]
    kinds = [kind for it in found for kind in it.kinds]
    context = {
        "sites": [
            (it, drawn([Trend(_("Findings of the audit"), values)]) if values else {})
            for it, values in zip(found, audits, strict=True)
        ],
        "has_workers": has_workers(),
        "fault": fault,
        "are_many": len(sites) > 1,
        "number": sum([len(problems_of(it)) for it in statuses]),
        "is_well": not fault and not kinds,
        "is_known": all(it.is_known for it in statuses),
        "actions": allowed_actions(request.user),
    }
    return show(request, admin_site, "problems", "problems.html", **context)
