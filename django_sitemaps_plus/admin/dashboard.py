"""The dashboard in the admin: its pages, and who may see them."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.db import Error
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.urls import URLPattern, path
from django.utils.module_loading import import_string

from django_sitemaps_plus.models import Dashboard

if TYPE_CHECKING:
    _Admin = admin.ModelAdmin[Dashboard]
else:
    _Admin = admin.ModelAdmin

#: Each view with the name of its URL and its path; it is imported when it is asked for,
#: and gets the request, and the site of the admin. The first is the one that the index
#: of the admin leads to.
VIEWS = [
    ("changelist", "", "overview.overview"),
    ("running", "running/", "overview.running"),
    ("workers", "workers/", "overview.workers"),
    ("act", "actions/<slug:name>/", "actions.act"),
    ("section", "section/", "sections.section_page"),
    ("entries", "section/entries/", "sections.page_entries"),
    ("csv", "section/csv/<slug:kind>/", "sections.section_csv"),
    ("problems", "problems/", "overview.problems"),
    ("url", "url/", "panel.listed_url"),
    ("submissions", "submissions/", "submissions.submissions"),
]


@admin.register(Dashboard)
class DashboardAdmin(_Admin):
    """Shows how the sitemaps are, and lets users with the right permissions act."""

    def get_urls(self) -> list[URLPattern]:
        """Return the URLs of the dashboard, in the place of those of a model."""

        def show(view: str, request: HttpRequest, **kwargs: Any) -> HttpResponseBase:
            if not self.has_view_permission(request):
                raise PermissionDenied
            call: Any = import_string(f"{__package__}.{view}")
            try:
                response: HttpResponseBase = call(request, self.admin_site, **kwargs)
            except Error:  # which may name hosts and users
                if request.method == "POST":  # a change is not to be half done
                    raise
                from .pages import show as framed

                response = framed(request, self.admin_site, "changelist", "unread.html")
                response.status_code = 503
            return response

        urls = []
        for name, route, view in VIEWS:
            shown = self.admin_site.admin_view(partial(show, view))
            urls.append(path(route, shown, name=f"sitemaps_plus_dashboard_{name}"))
        return urls

    def has_add_permission(
        self, request: HttpRequest, obj: Dashboard | None = None
    ) -> bool:
        """Return False: it has no rows of its own."""
        return False

    has_change_permission = has_delete_permission = has_add_permission
