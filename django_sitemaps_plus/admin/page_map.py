"""The map: each section as a strip of its pages, and the entries of a page."""

from __future__ import annotations

from django.contrib.admin import AdminSite
from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from .pages import show


@require_safe
def page_map(request: HttpRequest, admin_site: AdminSite) -> HttpResponse:
    """Show the sections of a site as strips of their pages."""
    return show(request, admin_site, "map", "base.html")
