"""The plots: what builds and deliveries came to, hour by hour."""

from __future__ import annotations

from django.contrib.admin import AdminSite
from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from .pages import show


@require_safe
def plots(request: HttpRequest, admin_site: AdminSite) -> HttpResponse:
    """Show the plots, each with its numbers beneath."""
    return show(request, admin_site, "plots", "base.html")
