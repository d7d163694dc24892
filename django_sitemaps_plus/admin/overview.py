"""The overview and the problems: whether sitemaps are complete, fresh and taken up."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from django.contrib.admin import AdminSite
from django.db.models import Model
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.template.defaultfilters import filesizeformat, floatformat
from django.utils.translation import get_language
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from django_sitemaps_plus.diagnostics.problems import Problem, problems_of, shortened
from django_sitemaps_plus.diagnostics.site_problems import read_problems
from django_sitemaps_plus.diagnostics.status import LATE, SiteStatus, read_dashboard
from django_sitemaps_plus.executors.base import get_executor
from django_sitemaps_plus.templatetags.sitemaps_plus_dashboard import age

from .actions import allowed_actions
from .pages import known_sites, may_view, object_url, show


@require_safe
def overview(request: HttpRequest, admin_site: AdminSite) -> HttpResponse:
    """Show every site with its sections and engines."""
    return show(request, admin_site, "changelist", "overview.html", **_state(request))


@require_safe
def running(request: HttpRequest, admin_site: AdminSite) -> HttpResponse:
    """Answer with the parts of the overview that move, as pieces of HTML."""
    return show(request, admin_site, "changelist", "running.html", **_state(request))


@require_safe
def workers(request: HttpRequest, admin_site: AdminSite) -> HttpResponse:
    """Ask the workers, which takes some seconds; answer with what they say as JSON."""
    try:
        executor = get_executor()
        if not executor.is_listening:
            none = _("No workers: commands alone build and notify.")
            return JsonResponse({"ok": True, "words": [none]})
        faults = [f"{fault} {remedy}" for fault, remedy in executor.worker_faults()]
        names = [] if faults else [*executor.workers()]
    except Exception as error:  # noqa: BLE001 - whatever the broker's client raises
        faults = [_("The broker does not answer: %s") % type(error).__name__]
    words = faults or [_("Workers that answer: %s") % ", ".join(names)]
    return JsonResponse({"ok": not faults, "words": words})


def _state(request: HttpRequest) -> dict[str, Any]:
    sites, fault = known_sites(request)
    shown, count = [], 0
    for status in read_dashboard(sites):
        problems = problems_of(status, max_age=LATE, language=get_language())
        count += len(problems)
        own = defaultdict[tuple[bool, str], list[Problem]](list)
        for problem in problems:
            own[problem.id.startswith("engine_"), problem.subject].append(problem)
        sections = [(it, own[False, it.section]) for it in status.sections]
        engines = [(it, own[True, it.engine]) for it in status.engines]
        verdicts = [  # each with a state: ok, warning, error or unknown, and words
            (_("Django answers"), *_answering(status, problems)),
            (_("Complete"), *_completeness(status, problems)),
            (_("Fresh"), *_freshness(status, problems)),
            (_("Taken up"), *_delivery(status, problems)),
        ]
        shown.append((status, verdicts, sections, engines))
    return {
        "sites": shown,
        "fault": fault,
        "problems": count,
        "are_many": len(sites) > 1,
        "actions": allowed_actions(request.user),
    }


def _answering(status: SiteStatus, problems: Sequence[Problem]) -> tuple[str, str]:
    for problem in problems:
        if problem.id in ("origin_differs", "index_unavailable", "index_empty"):
            return problem.level, problem.message
    if (answer := status.answer) is None:
        return "unknown", _("Django was never asked for the index")
    words = _("%(status)s, %(size)s in %(seconds)s s, asked %(age)s")
    shown = {
        "status": answer.status or _("no answer"),
        "size": filesizeformat(answer.size),
        "seconds": floatformat(answer.seconds, 2),
        "age": age(answer.looked_at),
    }
    return "ok" if answer.is_known else "unknown", words % shown


def _completeness(status: SiteStatus, problems: Sequence[Problem]) -> tuple[str, str]:
    for problem in problems:
        if problem.id in ("origin_differs", "section_failed", "section_unavailable"):
            return "error", f"{problem.subject}: {problem.message}"
    held = [it.section for it in status.sections if it.hold_reason]
    failed = sum([it.parked + it.failed for it in status.sections])
    failed += len(status.index_problems)
    skipped = sum([it.skipped for it in status.sections])
    if not status.sections:
        return "warning", _("No section is registered")
    if held:
        return "error", _("Held by the guard: %s") % ", ".join(held)
    if failed:
        words = _("Pages that could not be built: %s")
        return "error", words % floatformat(failed, "g")
    if skipped:
        return "warning", _("Rows that are left out: %s") % floatformat(skipped, "g")
    if live := [it.section for it in status.sections if it.live]:
        words = _("Not known of what is served live: %s")
        return "unknown", words % shortened(", ".join(live))
    return "ok", _("Every row that can be listed is listed")


def _freshness(status: SiteStatus, problems: Sequence[Problem]) -> tuple[str, str]:
    if late := {it.subject: None for it in problems if it.id == "section_overdue"}:
        return "error", _("Behind by more than 25 hours: %s") % ", ".join(late)
    if failed := [it.subject for it in problems if it.id == "section_failed"]:
        return "warning", _("Not known, since builds fail: %s") % ", ".join(failed)
    if lost := [it.subject for it in problems if it.id == "section_damaged"]:
        return "error", _("Files are missing or damaged: %s") % ", ".join(lost)
    if status.dirty or status.changes:
        words = _("Waiting for a build: pages: %(pages)s, changes: %(changes)s")
        numbers = {"pages": status.dirty, "changes": status.changes}
        shown = {key: floatformat(it, "g") for key, it in numbers.items()}
        return "warning", words % shown
    if status.is_live:
        return "ok", _("Served live, since nothing is built")
    return "ok", _("Nothing waits for a build")


def _delivery(status: SiteStatus, problems: Sequence[Problem]) -> tuple[str, str]:
    parked = [it.engine for it in status.engines if it.parked]
    dead = sum([it.dead for it in status.engines])
    failing = [it.engine for it in status.engines if it.failing]
    accepted = sum([it.accepted for it in status.engines])
    if not status.engines:
        return "warning", _("No engine is configured")
    if parked:
        return "error", _("Not notified: %s") % ", ".join(parked)
    if dead:
        return "error", _("Rejected targets: %s") % floatformat(dead, "g")
    for problem in problems:
        if problem.id in ("engine_feedback", "engine_unread", "engine_indexed"):
            return problem.level, f"{problem.subject}: {problem.message}"
    if status.silence:
        return "warning", _("Engines are not notified: %s") % status.silence
    if failing:
        return "warning", _("Tried again after a failure: %s") % ", ".join(failing)
    return "ok", _("Accepted in 24 hours: %s") % floatformat(accepted, "g")


@require_safe
def problems(request: HttpRequest, admin_site: AdminSite) -> HttpResponse:
    """Show rows that are left out, findings, and what is parked."""

    def link(model: type[Model], key: str) -> str | None:
        is_open = may_view(request, admin_site, model)
        return object_url(admin_site, model, key) if is_open else None

    sites, fault = known_sites(request)
    statuses = read_dashboard(sites)
    found = [read_problems(status, link) for status in statuses]
    context = {
        "sites": found,
        "fault": fault,
        "are_many": len(sites) > 1,
        "is_well": not fault and not any(it.kinds for it in found),
        "is_known": all(it.is_known for it in statuses),
        "actions": allowed_actions(request.user),
    }
    return show(request, admin_site, "problems", "problems.html", **context)
