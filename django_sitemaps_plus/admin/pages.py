"""The frame of all pages of the dashboard, and the sites that they show."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from django.contrib.admin import AdminSite
from django.contrib.admin.utils import quote
from django.contrib.auth import get_permission_codename
from django.core.exceptions import ImproperlyConfigured
from django.db.models import Model
from django.http import Http404, HttpRequest
from django.template.response import TemplateResponse
from django.urls import NoReverseMatch, reverse
from django.utils.translation import gettext_lazy as _

from django_sitemaps_plus.conf import Site, get_sites
from django_sitemaps_plus.models import Dashboard

#: The pages that lead to each other, by the names of their URLs.
TABS = [
    ("changelist", _("Overview")),
    ("problems", _("Problems")),
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
        "tabs": [(f"admin:sitemaps_plus_dashboard_{name}", it) for name, it in TABS],
    }
    return TemplateResponse(request, f"sitemaps_plus/admin/{template}", frame | context)


def object_url(
    admin_site: AdminSite, model: type[Model], key: Any, page: str = "change"
) -> str:
    """Return the page of an object in the admin; "" where it has none."""
    name = f"admin:{model._meta.app_label}_{model._meta.model_name}_{page}"
    with suppress(NoReverseMatch):
        return reverse(name, args=[quote(key)], current_app=admin_site.name)
    return ""


def may_view(request: HttpRequest, admin_site: AdminSite, model: type[Model]) -> bool:
    """Return whether the user may see objects of a model: its admin decides if any."""
    if (admin := admin_site._registry.get(model)) is not None:
        return admin.has_view_or_change_permission(request)
    name = get_permission_codename("view", model._meta)
    return request.user.has_perm(f"{model._meta.app_label}.{name}")


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
