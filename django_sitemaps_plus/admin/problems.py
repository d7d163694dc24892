"""The problems: what needs a person, and what to do about it."""

from __future__ import annotations

from functools import partial

from django.contrib.admin import AdminSite
from django.db.models import Model
from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from django_sitemaps_plus.maintenance.dashboard import read_dashboard
from django_sitemaps_plus.maintenance.problems import read_problems

from .actions import allowed_actions
from .pages import known_sites, object_url, show


@require_safe
def problems(request: HttpRequest, admin_site: AdminSite) -> HttpResponse:
    """Show rows that are left out, findings, and what is parked."""
    sites, fault = known_sites(request)
    link = partial(_link, request, admin_site)
    found = [read_problems(status, link) for status in read_dashboard(sites)]
    context = {
        "sites": found,
        "fault": fault,
        "are_many": len(sites) > 1,
        "is_well": not fault and not any(it.kinds for it in found),
        "actions": allowed_actions(request.user),
    }
    return show(request, admin_site, "problems", "problems.html", **context)


def _link(
    request: HttpRequest, admin_site: AdminSite, model: type[Model], key: str
) -> str:
    """Return the page of an object in the admin; "" if the user may not see it."""
    admin = admin_site._registry.get(model)
    if admin is None or not admin.has_view_or_change_permission(request):
        return ""
    return object_url(admin_site, model, key)
