"""Actions of the dashboard: each marks rows, and leaves the work to builders."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django import forms
from django.contrib import messages
from django.contrib.admin import AdminSite
from django.contrib.admin.models import CHANGE, LogEntry
from django.contrib.contenttypes.models import ContentType
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.defaultfilters import floatformat
from django.urls import reverse
from django.utils.translation import gettext_lazy as _
from django.utils.translation import override
from django.views.decorators.http import require_http_methods

from django_sitemaps_plus.conf import Site, in_force
from django_sitemaps_plus.diagnostics import requests
from django_sitemaps_plus.diagnostics.section_pages import losing
from django_sitemaps_plus.diagnostics.words import shortened
from django_sitemaps_plus.models import Dashboard, EngineHost
from django_sitemaps_plus.notifications import Takes
from django_sitemaps_plus.notifications.configuration import get_engines
from django_sitemaps_plus.registry import registry
from django_sitemaps_plus.site_urls import as_listed
from django_sitemaps_plus.sites import silence_reason

from .pages import chosen_site, show

#: URLs that may be submitted at once.
MAX_URLS = 1_000


@dataclass(frozen=True, slots=True)
class Action:
    """Something that a user may do to a section or an engine."""

    permission: str
    subject: str  # section, engine or, for all engines, ""
    label: Any
    run: Callable[..., bool]  # returns whether there was something to do
    command: str  # does the rest where no worker listens; "" where nothing is left
    question: Any  # that is asked first, or ""


_QUESTIONS = {
    "rebuild": _(
        "Every page of the section is built again. Pages that come out the same stay "
        "as they are."
    ),
    "release": _(
        "This section waits for your approval, since it would lose most of its "
        "entries. Let it pass only if they are really gone: search engines forget what "
        "is not listed."
    ),
    "pause": _(
        "Nothing more is submitted to this engine until somebody resumes it. Changes "
        "wait until then, and monitors report it."
    ),
    "retry": _(
        "What the engine has rejected is submitted once more. First fix what it says."
    ),
    "submit": _("Every engine that takes URLs is notified of these."),
}
BUILD, NOTIFY, AUDIT = "build_sitemaps", "notify_search_engines", "check_sitemaps"
_TABLE: dict[str, tuple[str, str, Any, Callable[..., bool], str]] = {
    "refresh": ("refresh_sections", "section", _("Update"), requests.refresh, BUILD),
    "rebuild": ("rebuild_sections", "section", _("Rebuild"), requests.rebuild, BUILD),
    "ask": ("refresh_sections", "", _("Ask Django for the sitemap"), requests.ask, ""),
    "audit": ("refresh_sections", "", _("Audit the pages"), requests.audit, AUDIT),
    "release": (
        "release_sections",
        "section",
        _("Let it pass"),
        requests.release,
        BUILD,
    ),
    "pause": ("pause_engines", "engine", _("Pause"), requests.pause, ""),
    "resume": ("pause_engines", "engine", _("Resume"), requests.resume, NOTIFY),
    "retry": ("retry_deliveries", "engine", _("Retry"), requests.retry, NOTIFY),
    "submit": ("submit_urls", "", _("Submit URLs"), requests.submit, NOTIFY),
}
ACTIONS = {it: Action(*row, _QUESTIONS.get(it, "")) for it, row in _TABLE.items()}


def allowed_actions(user: Any) -> dict[str, Action]:
    """Return the actions that a user may take, by name."""
    return {
        name: action
        for name, action in ACTIONS.items()
        if user.has_perm(f"sitemaps_plus.{action.permission}")
    }


class UrlsForm(forms.Form):
    """URLs of a site, one a line."""

    urls = forms.CharField(
        label=_("URLs"),
        help_text=_("One a line; a path will do."),
        widget=forms.Textarea(
            attrs={"rows": 8, "class": "vLargeTextField", "dir": "ltr"}
        ),
    )

    def __init__(self, data: Any, site: Site) -> None:
        super().__init__(data)
        self.site = site

    def clean_urls(self) -> list[str]:
        """Return the URLs as they are listed, each once."""
        given = self.cleaned_data["urls"].split()
        if len(given) > MAX_URLS:
            words = _("%(count)s URLs are too many: submit %(most)s at once.")
            numbers = {"count": len(given), "most": MAX_URLS}
            shown = {name: floatformat(it, "g") for name, it in numbers.items()}
            raise forms.ValidationError(words % shown)
        try:
            found = [as_listed(url, self.site) for url in given]
        except ValueError as error:
            raise forms.ValidationError(str(error)) from error
        return list(dict.fromkeys(found))


@require_http_methods(["GET", "HEAD", "POST"])
def act(request: HttpRequest, admin_site: AdminSite, name: str) -> HttpResponse:
    """Ask whether to act, or do it: POST alone changes anything."""
    action = ACTIONS.get(name)
    if action is None:
        raise Http404("No such action")
    if name not in allowed_actions(request.user):
        raise PermissionDenied
    site = chosen_site(request)
    with in_force(site):
        target = _target(request, action, site)
        form = UrlsForm(request.POST or None, site) if name == "submit" else None
        if request.method == "POST" and (form is None or form.is_valid()):
            given = [form.cleaned_data["urls"]] if form else []
            _do(request, action, site, target, *given)
            overview = "admin:sitemaps_plus_dashboard_changelist"
            return redirect(reverse(overview, current_app=admin_site.name))
        context = {"action": action, "site": site, "target": target, "form": form}
        context["subtitle"] = f"{action.label}: {target}" if target else action.label
        if name == "release":
            context["search"] = losing(target, site)
        if form is not None:
            if reason := silence_reason():
                context["obstacle"] = _("Engines are not notified: %s") % reason
            elif not any(it.takes is Takes.URLS for it in get_engines().values()):
                context["obstacle"] = _("No engine takes URLs.")
        return show(request, admin_site, "changelist", "confirm.html", **context)


def _target(request: HttpRequest, action: Action, site: Site) -> str:
    """Return the section or engine that a request names, or raise Http404."""
    values = request.POST if request.method == "POST" else request.GET
    target = values.get(action.subject, "") if action.subject else ""
    known: set[str] = {""}
    if action.subject == "section":
        known = set(registry)  # no build takes a section that is not registered
    elif action.subject == "engine":
        hosts = EngineHost.objects.filter(site=site.name)
        known = {*get_engines(), *hosts.values_list("engine", flat=True)}
    if target not in known:
        raise Http404("No such section or engine")
    return target


def say_done(request: HttpRequest, what: str, command: str) -> None:
    """Say that something is done, or noted for workers, or for a command."""
    if not command:
        messages.success(request, _("%s: done.") % what)
    elif requests.has_workers():
        messages.success(request, _("%s: queued for the workers.") % what)
    else:
        words = _("%(what)s: noted. No workers listen, so run: %(command)s")
        messages.warning(request, words % {"what": what, "command": command})


def _do(
    request: HttpRequest, action: Action, site: Site, target: str, *given: Any
) -> None:
    """Act, say so, and log it in the history of the admin."""
    user: Any = request.user
    is_done = action.run(site, target, *given, by=user.get_username())
    name = target or ", ".join(given[0] if given else [site.origin])
    what = f"{action.label}: {name}"
    if not is_done:
        messages.warning(request, _("%s: there is nothing to do.") % what)
        return
    sections = [target] if action.subject == "section" else []
    command = action.command and requests.command_for(action.command, site, *sections)
    say_done(request, shortened(what), command)
    with override(None):  # as Django logs: in English, whoever reads it
        noted = f"{action.label}: {name} ({site.origin})"
    kind = ContentType.objects.get_for_model(Dashboard, for_concrete_model=False)
    LogEntry.objects.create(
        user_id=user.pk,
        content_type_id=kind.pk,
        object_id=f"{site.name}/{target}",
        object_repr=(target or site.origin)[:200],
        action_flag=CHANGE,
        change_message=noted,
    )
