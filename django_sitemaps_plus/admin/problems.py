"""The problems: what needs a person, and what to do about it."""

from __future__ import annotations

from django.contrib.admin import AdminSite
from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from .pages import show


@require_safe
def problems(request: HttpRequest, admin_site: AdminSite) -> HttpResponse:
    """Show rows that are left out, findings, and what is parked."""
    return show(request, admin_site, "problems", "base.html")
