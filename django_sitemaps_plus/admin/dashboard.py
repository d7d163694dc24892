"""The dashboard in the admin: its pages, and who may see them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.urls import URLPattern, path

from django_sitemaps_plus.models import Dashboard

from .actions import act
from .objects import listed_url
from .overview import overview, problems, workers
from .sections import page_entries, section_csv, section_page
from .submissions import submissions

if TYPE_CHECKING:
    _Admin = admin.ModelAdmin[Dashboard]
else:
    _Admin = admin.ModelAdmin

#: A view of the dashboard: it gets the request, and the site of the admin.
View = Callable[..., HttpResponseBase]

#: Each with the name of its URL and its path. The first is the one that the index of
#: the admin leads to.
VIEWS: list[tuple[str, str, View]] = [
    ("changelist", "", overview),
    ("running", "running/", partial(overview, template="running.html")),
    ("workers", "workers/", workers),
    ("act", "actions/<slug:name>/", act),
    ("section", "section/", section_page),
    ("entries", "section/entries/", page_entries),
    ("csv", "section/csv/<slug:kind>/", section_csv),
    ("problems", "problems/", problems),
    ("url", "url/", listed_url),
    ("submissions", "submissions/", submissions),
]


@admin.register(Dashboard)
class DashboardAdmin(_Admin):
    """Shows how the sitemaps are, and lets users with the right permissions act."""

    def get_urls(self) -> list[URLPattern]:
        """Return the URLs of the dashboard, in the place of those of a model."""

        def show(view: View, request: HttpRequest, **kwargs: Any) -> HttpResponseBase:
            if not self.has_view_permission(request):
                raise PermissionDenied
            return view(request, self.admin_site, **kwargs)

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
