"""Sitemaps on the pages of objects, and the list of those that editors exclude."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from functools import partial
from typing import TYPE_CHECKING, Any

from django import forms
from django.contrib import admin, messages
from django.contrib.admin import AdminSite
from django.contrib.admin.utils import flatten_fieldsets, unquote
from django.contrib.admin.views.main import ChangeList
from django.core.exceptions import PermissionDenied
from django.db.models import Model, QuerySet
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path
from django.utils.decorators import method_decorator
from django.utils.html import format_html
from django.utils.text import capfirst
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, override
from django.views.decorators.http import require_http_methods, require_safe

from django_sitemaps_plus.conf import Site, in_force
from django_sitemaps_plus.diagnostics import explain
from django_sitemaps_plus.diagnostics.requests import exclude, lift
from django_sitemaps_plus.diagnostics.site_problems import NOBODY
from django_sitemaps_plus.models import Exclusion, Section
from django_sitemaps_plus.models.base import contained
from django_sitemaps_plus.outages import in_one_line
from django_sitemaps_plus.site_urls import with_scheme
from django_sitemaps_plus.sites import site_at
from django_sitemaps_plus.templatetags.sitemaps_plus_dashboard import bdi

from .actions import allowed_actions, say_done
from .pages import (
    MAX_NAMED,
    as_seen,
    fields_shown,
    known_sites,
    named_objects,
    object_url,
    show,
    tabs,
)

logger = logging.getLogger(__name__)

if TYPE_CHECKING:
    _Admin = admin.ModelAdmin[Exclusion]
    _MixinBase = admin.ModelAdmin[Any]
else:
    _Admin, _MixinBase = admin.ModelAdmin, object

#: Seconds for which pages are searched for a URL.
MAX_SECONDS = 5


class NoteForm(forms.Form):
    """Why an object is excluded."""

    note = forms.CharField(
        label=gettext_lazy("Reason (optional)"), max_length=200, required=False
    )


class SitemapMixin(_MixinBase):
    """Shows on an object's page whether sitemaps list it, and lets editors exclude it.

    A class that is mixed into a ``ModelAdmin``, before it. The page asks for the panel
    once it is shown, so it is as fast as before and never fails because of a sitemap.
    """

    def get_urls(self) -> list[URLPattern]:
        """Add the URL of the panel."""
        view = self.admin_site.admin_view(self.sitemap_view)
        name = f"{self.opts.app_label}_{self.opts.model_name}_sitemap"
        return [path("<path:object_id>/sitemap/", view, name=name), *super().get_urls()]

    def render_change_form(
        self, request: HttpRequest, context: dict[str, Any], *args: Any, **kwargs: Any
    ) -> HttpResponse:
        """Add a place for the panel, whatever the template of the page is."""
        response = super().render_change_form(request, context, *args, **kwargs)
        row = context.get("original")
        if row is None or context.get("is_popup"):
            return response
        if isinstance(response, TemplateResponse) and response.context_data is not None:
            url = object_url(self.admin_site, self.model, row.pk, "sitemap")
            if url:  # else get_urls() is another's
                frame = response.resolve_template(response.template_name)
                names = {"sitemaps_plus_frame": frame, "sitemaps_plus_url": url}
                response.context_data |= names
                response.template_name = "sitemaps_plus/admin/change_form.html"
        return response

    @method_decorator(require_http_methods(["GET", "HEAD", "POST"]))
    def sitemap_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Answer with the panel, as a piece of a page or as a page of its own."""
        row = self.get_object(request, unquote(object_id))
        if not self.has_view_or_change_permission(request, row):
            raise PermissionDenied
        if row is None:
            raise Http404("No such object")
        if request.method == "POST":
            _act(self, request, row)
            return HttpResponseRedirect(request.get_full_path())

        is_part, [sites, fault] = "part" in request.GET, known_sites(request)
        request.current_app = self.admin_site.name
        fields = flatten_fieldsets(self.get_fieldsets(request, row))
        others = partial(fields_shown, request, self.admin_site)
        say = partial(as_seen, request, self.admin_site)

        def shown(it: Any) -> Any:  # a condition may be on what the row refers to
            is_own = isinstance(it, self.model._meta.concrete_model)
            return fields if is_own and it.pk == row.pk else others(it)

        ask = explain.explain_object
        context: dict[str, Any] = {
            "answers": [(it, *_answer(ask, row, it, shown, say)) for it in sites],
            "fault": fault,
            "exclusion": Exclusion.objects.of_row(row).first(),
            "may_exclude": _may_exclude(self, request, row),
            "may_lift": _may_lift(request),
            "may_view_page": request.user.has_perm("sitemaps_plus.view_dashboard"),
            "note_field": NoteForm(auto_id="sitemaps-%s")["note"],
            "is_part": is_part,
            "url": request.get_full_path(),
        }
        if not is_part:
            context |= self.admin_site.each_context(request)
            context |= {"title": _("Sitemap"), "opts": self.opts, "original": row}
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
            found = ask(what, site, shown)
    except ValueError as error:
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
    shown = partial(fields_shown, request, admin_site)
    say = partial(as_seen, request, admin_site)
    own = [it for it in sites if site_at(with_scheme(url, it), it)] or sites[:1]
    ask = partial(explain.explain_url, seconds=MAX_SECONDS)
    context = {
        "answers": [(it, *_answer(ask, url, it, shown, say)) for it in own if url],
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


@admin.register(Exclusion)
class ExclusionAdmin(_Admin):
    """Lists exclusions; to delete one is to list its object again."""

    change_list_template = "sitemaps_plus/admin/exclusions.html"
    list_display = ("object_link", "note", "by", "at")
    list_display_links = None
    list_filter = ("model",)
    search_fields = ("key", "note", "by")
    ordering = ("-at", "-pk")

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """Show the list as a tab of the dashboard."""
        title = capfirst(self.opts.verbose_name_plural)
        context = {"title": title, **tabs(request, self.admin_site)}
        return super().changelist_view(request, context | (extra_context or {}))

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Exclusion], search_term: str
    ) -> tuple[QuerySet[Exclusion], bool]:
        """Find exclusions also by the URL, the path or the name of their objects.

        The names are those that the user may see, of the newest thousand.
        """
        rows, has_twice = super().get_search_results(request, queryset, search_term)
        if term := search_term.strip().casefold():
            newest = queryset.order_by("-pk")[:MAX_NAMED]
            keys = {(it.model, it.key): it.pk for it in newest}
            named = named_objects(request, self.admin_site, keys).items()
            found = [keys[it] for it, (name, *_) in named if term in name.casefold()]
            rows |= queryset.filter(pk__in=found)
        if "/" in search_term:
            ask = explain.exclusions_at
            shown = partial(fields_shown, request, self.admin_site)
            for site in known_sites(request)[0]:
                keys, _fault = _answer(ask, search_term, site, shown, str)
                rows |= queryset.filter(pk__in=keys or ())
        return rows, has_twice

    def get_changelist_instance(self, request: HttpRequest) -> ChangeList:
        """Name the objects of the rows shown that the user may see: a query a model."""
        changelist = super().get_changelist_instance(request)
        shown: Any = {(it.model, it.key): it for it in changelist.result_list}
        for key, found in named_objects(request, self.admin_site, shown).items():
            shown[key].found = found
        return changelist

    @admin.display(description=gettext_lazy("object"))
    def object_link(self, exclusion: Exclusion) -> str:
        """Return the name of the object with a link to its page; else its key."""
        name, url, _sees = getattr(exclusion, "found", NOBODY)
        name = bdi(name or str(exclusion))
        return format_html('<a href="{}">{}</a>', url, name) if url else name

    def has_add_permission(
        self, request: HttpRequest, obj: Exclusion | None = None
    ) -> bool:
        """Return False: objects are excluded on their own pages."""
        return False

    has_change_permission = has_add_permission

    def delete_model(self, request: HttpRequest, obj: Exclusion) -> None:
        """List an object again."""
        self.delete_queryset(request, [obj])

    def delete_queryset(
        self, request: HttpRequest, queryset: Iterable[Exclusion]
    ) -> None:
        """List objects again."""
        lift(queryset)
        say_done(request, _("Listed again"), build_command())
