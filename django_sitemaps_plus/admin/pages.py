"""The frame of all pages of the dashboard, and the sites that they show."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any
from urllib.parse import urlencode

from django.apps import apps
from django.contrib.admin import AdminSite
from django.contrib.admin.utils import flatten_fieldsets, quote
from django.core.exceptions import ImproperlyConfigured
from django.db.models import Model
from django.http import Http404, HttpRequest
from django.template.response import TemplateResponse
from django.urls import NoReverseMatch, reverse
from django.utils.text import capfirst
from django.utils.translation import gettext_lazy as _

from django_sitemaps_plus.conf import Site
from django_sitemaps_plus.diagnostics import site_problems
from django_sitemaps_plus.diagnostics.conditions import sees_all
from django_sitemaps_plus.diagnostics.problems import Problem
from django_sitemaps_plus.diagnostics.site_problems import Named
from django_sitemaps_plus.models import Dashboard, Exclusion
from django_sitemaps_plus.models.base import contained
from django_sitemaps_plus.sites import get_sites
from django_sitemaps_plus.sources.keys import as_keys

#: Objects of a model that are named.
MAX_NAMED = 1_000

#: The pages that lead to each other, by the names of their URLs.
TABS = [
    ("changelist", _("Overview")),
    ("problems", _("Problems")),
    ("submissions", _("Submissions")),
]


def show(
    request: HttpRequest, admin_site: AdminSite, tab: str, template: str, **context: Any
) -> TemplateResponse:
    """Return a page of the dashboard, in the frame of the admin."""
    request.current_app = admin_site.name
    frame = {
        **admin_site.each_context(request),
        "title": dict(TABS)[tab],
        "opts": Dashboard._meta,
        "tab_url": reverse(
            f"admin:sitemaps_plus_dashboard_{tab}", current_app=admin_site.name
        ),
        **tabs(request, admin_site, context.get("site")),
    }
    return TemplateResponse(request, f"sitemaps_plus/admin/{template}", frame | context)


def tabs(
    request: HttpRequest, admin_site: AdminSite, site: Site | None = None
) -> dict[str, Any]:
    """Return URLs and labels of the tabs that a user may open, and where URLs are."""
    query = f"?{urlencode({'site': site.name})}" if site else ""
    known: list[Any] = [(Dashboard, name, label, query) for name, label in TABS]
    exclusions = capfirst(Exclusion._meta.verbose_name_plural)
    known.append((Exclusion, "changelist", exclusions, ""))
    known.append((Dashboard, "url", "", ""))
    found, viewer = [], Viewer(request, admin_site)
    for model, name, label, query in known:
        if admin_site.is_registered(model) and viewer.may_view(model):
            view = f"admin:sitemaps_plus_{model._meta.model_name}_{name}"
            found.append((reverse(view, current_app=admin_site.name) + query, label))
    look_up = found.pop()[0] if found and not found[-1][1] else ""
    return {"tabs": found, "look_up": look_up}


def object_url(
    admin_site: AdminSite, model: type[Model], key: Any, page: str = "change"
) -> str:
    """Return the page of an object in the admin; "" where it has none."""
    name = f"admin:{model._meta.app_label}_{model._meta.model_name}_{page}"
    with suppress(NoReverseMatch):
        return reverse(name, args=[quote(key)], current_app=admin_site.name)
    return ""


@dataclass(frozen=True, slots=True)
class Viewer:
    """A user of the admin, by what may be shown to them."""

    request: HttpRequest
    admin_site: AdminSite

    def may_view(self, model: type[Model], row: Model | None = None) -> bool:
        """Return whether they may see the rows of a model, or one of them."""
        if self.admin_site.is_registered(model):
            model_admin = self.admin_site.get_model_admin(model)
            return model_admin.has_view_or_change_permission(self.request, row)
        return site_problems.may_view(self.request.user, model)

    def words(self, words: str) -> str:
        """Return the words of an error as they may see them."""
        return site_problems.as_seen(words, self.request.user, self.may_view)

    def problems(self, problems: Iterable[Problem]) -> list[Problem]:
        """Return problems, and their items, as they may see them."""
        return [
            replace(
                problem,
                message=self.words(problem.message),
                items=[replace(it, words=self.words(it.words)) for it in problem.items],
            )
            for problem in problems
        ]

    def names(self, wanted: Collection[tuple[str, str]]) -> dict[Any, Named]:
        """Return name and page of objects by model and key, by a query a model.

        Objects that they may not see are not among them, nor are those that have gone.
        The name is "" where ``str()`` raises.
        """
        found = dict[tuple[str, str], Named]()
        for label in {label for label, _key in wanted}:
            # The model may have gone, or its table; and names are the code of a user.
            with suppress(Exception), contained():
                model: Any = apps.get_model(label)
                if not self.may_view(model):
                    continue
                keys = [key for it, key in wanted if it == label]
                rows = model._base_manager.all()
                if self.admin_site.is_registered(model):
                    model_admin = self.admin_site.get_model_admin(model)
                    rows = model_admin.get_queryset(self.request)
                for row in rows.filter(pk__in=as_keys(model, keys[:MAX_NAMED])):
                    place, name = (label, str(row.pk)), ""
                    if place in wanted and self.may_view(model, row):
                        with suppress(Exception):
                            name = str(row)
                        url = object_url(self.admin_site, model, row.pk)
                        found[place] = name, url, partial(self.sees_whole, row)
        return found

    def fields(self, row: Model) -> Collection[str] | None:
        """Return the fields of an object that they may see; None for all of them.

        They are those of its page in the admin, if it has one.
        """
        if not self.may_view(type(row), row):
            return ()
        if not self.admin_site.is_registered(type(row)):
            return None
        model_admin = self.admin_site.get_model_admin(type(row))
        return flatten_fieldsets(model_admin.get_fieldsets(self.request, row))

    def sees_whole(self, row: Model) -> bool:
        """Return whether they see all fields of an object, which errors may tell."""
        return sees_all(row, self.fields(row))


def known_sites(request: HttpRequest) -> tuple[list[Site], str]:
    """Return the sites, and why there are none."""
    try:
        return get_sites(request), ""
    except ImproperlyConfigured as error:
        return [], str(error)


def chosen_site(request: HttpRequest) -> Site:
    """Return the site that a request names, by default the first; or raise Http404."""
    sites, _fault = known_sites(request)
    values = request.POST if request.method == "POST" else request.GET
    name = values.get("site") or (sites[0].name if sites else "")
    for site in sites:
        if site.name == name:
            return site
    raise Http404("No such site")
