"""The panel of an object: its place in sitemaps, and the acts of editors."""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import partial
from typing import Any

from django import forms
from django.contrib import messages
from django.contrib.admin import AdminSite
from django.contrib.admin.utils import flatten_fieldsets, unquote
from django.core.exceptions import PermissionDenied
from django.db.models import Model, QuerySet
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, override
from django.views.decorators.http import require_safe

from django_sitemaps_plus.conf import Site, in_force
from django_sitemaps_plus.diagnostics import explain
from django_sitemaps_plus.diagnostics.requests import exclude, lift
from django_sitemaps_plus.exceptions import ConfigurationError
from django_sitemaps_plus.models import Exclusion, Section
from django_sitemaps_plus.models.base import contained
from django_sitemaps_plus.models.sections import owning_site
from django_sitemaps_plus.outages import in_one_line
from django_sitemaps_plus.site_urls import with_scheme
from django_sitemaps_plus.sites import site_at

from .actions import allowed_actions, say_done
from .pages import MAX_NAMED, Viewer, known_sites, show

logger = logging.getLogger(__name__)

#: Seconds for which pages are searched for a URL.
MAX_SECONDS = 5


class NoteForm(forms.Form):
    """Why an object is excluded."""

    note = forms.CharField(
        label=gettext_lazy("Reason (optional)"), max_length=200, required=False
    )


def panel(model_admin: Any, request: HttpRequest, object_id: str) -> HttpResponse:
    """Answer with the panel of an object, as a piece of a page or as one of its own."""
    row = model_admin.get_object(request, unquote(object_id))
    if not model_admin.has_view_or_change_permission(request, row):
        raise PermissionDenied
    if row is None:
        raise Http404("No such object")
    if request.method == "POST":
        _act(model_admin, request, row)
        return HttpResponseRedirect(request.get_full_path())

    is_part, [sites, fault] = "part" in request.GET, known_sites(request)
    request.current_app = model_admin.admin_site.name
    fields = flatten_fieldsets(model_admin.get_fieldsets(request, row))
    viewer = Viewer(request, model_admin.admin_site)

    def shown(it: Any) -> Any:  # a condition may be on what the row refers to
        is_own = isinstance(it, model_admin.model._meta.concrete_model)
        return fields if is_own and it.pk == row.pk else viewer.fields(it)

    ask = explain.explain_object
    context: dict[str, Any] = {
        "answers": [(it, *_answer(ask, row, it, shown, viewer.words)) for it in sites],
        "fault": fault,
        "exclusion": Exclusion.objects.of_row(row).first(),
        "may_exclude": _may_exclude(model_admin, request, row),
        "may_lift": _may_lift(request),
        "may_view_page": request.user.has_perm("sitemaps_plus.view_dashboard"),
        "note_field": NoteForm(auto_id="sitemaps-%s")["note"],
        "is_part": is_part,
        "url": request.get_full_path(),
    }
    if not is_part:
        context |= model_admin.admin_site.each_context(request)
        context |= {"title": _("Sitemap"), "opts": model_admin.opts, "original": row}
    name = "_object.html" if is_part else "object.html"
    return TemplateResponse(request, f"sitemaps_plus/admin/{name}", context)


def _may_exclude(model_admin: Any, request: HttpRequest, row: Model) -> bool:
    may_change: bool = model_admin.has_change_permission(request, row)
    return may_change and request.user.has_perm("sitemaps_plus.add_exclusion")


def _may_lift(request: HttpRequest) -> bool:
    return request.user.has_perm("sitemaps_plus.delete_exclusion")


def _answer(
    ask: Callable[..., Any],
    what: Any,
    site: Site,
    shown: explain.Shown,
    say: Callable[[str], str],
) -> tuple[Any, str]:
    """Return what there is to say of a row or a URL on a site, or why nothing is."""
    try:
        with in_force(site), contained():
            owning_site()
            found = ask(what, site, shown)
    except (ValueError, ConfigurationError) as error:
        return None, str(error)
    except Exception as error:
        logger.exception("It cannot be explained why a sitemap has it or not")
        return None, say(in_one_line(error))
    if isinstance(found, explain.Explanation):
        found.notes = list(map(say, found.notes))
        for row in found.rows:
            row.reasons = list(map(say, row.reasons))
    return found, ""


@require_safe
def listed_url(request: HttpRequest, admin_site: AdminSite) -> HttpResponse:
    """Say whether sitemaps list a URL, since when, and who knows; or why not."""
    sites, fault = known_sites(request)
    url = request.GET.get("url", "").strip()
    viewer = Viewer(request, admin_site)
    own = [it for it in sites if site_at(with_scheme(url, it), it)] or sites[:1]
    ask = partial(explain.explain_url, seconds=MAX_SECONDS)
    given = viewer.fields, viewer.words
    context = {
        "answers": [(it, *_answer(ask, url, it, *given)) for it in own if url],
        "fault": fault,
        "asked": url,
        "subtitle": _("Is this URL listed?"),
        "may_view_page": True,
        "actions": allowed_actions(request.user),
    }
    return show(request, admin_site, "changelist", "url.html", **context)


def _act(model_admin: Any, request: HttpRequest, row: Model) -> None:
    """Exclude a row or list it again, say so, and log it in the row's history."""
    is_exclusion = "exclude" in request.POST
    may_exclude, may_lift = _may_exclude(model_admin, request, row), _may_lift(request)
    if not (may_exclude if is_exclusion else may_lift):
        raise PermissionDenied
    form = NoteForm(request.POST)
    if not form.is_valid():
        messages.error(request, form.errors["note"].as_text())
        return
    note, user = form.cleaned_data["note"], request.user.get_username()
    if is_exclusion:
        what = gettext_lazy("Excluded from sitemaps")
        is_done = exclude(row, by=user, note=note)
    else:
        what = gettext_lazy("Listed again")
        is_done = lift(Exclusion.objects.of_row(row), row)
    if not is_done:
        messages.warning(request, _("%s: there is nothing to do.") % what)
        return
    say_done(request, str(what), build_command())
    with override(None):  # as Django logs: in English, whoever reads it
        model_admin.log_change(request, row, f"{what}: {note}" if note else str(what))


def build_command() -> str:
    """Return what builds the pages that were marked; "" where all is served live."""
    return "manage.py build_sitemaps" if Section.objects.planned().exists() else ""


def exclusions_of(
    request: HttpRequest,
    admin_site: AdminSite,
    exclusions: QuerySet[Exclusion],
    term: str,
) -> list[int]:
    """Return the keys of exclusions of objects by a part of their name, or a URL."""
    found, viewer = list[int](), Viewer(request, admin_site)
    if term:
        newest = exclusions.order_by("-pk")[:MAX_NAMED]
        keys = {(it.model, it.key): it.pk for it in newest}
        named = viewer.names(keys).items()
        part = term.casefold()
        found += [keys[it] for it, (name, *_) in named if part in name.casefold()]
    for site in known_sites(request)[0] if "/" in term else ():
        at, _fault = _answer(explain.exclusions_at, term, site, viewer.fields, str)
        found += at or ()
    return found


def list_again(request: HttpRequest, exclusions: Any) -> None:
    """Lift exclusions, and say so."""
    lift(exclusions)
    say_done(request, _("Listed again"), build_command())
