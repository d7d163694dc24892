"""URLs of the example project: the admin, the atlas and its sitemaps."""

from __future__ import annotations

from django.contrib import admin
from django.urls import include, path

urlpatterns = [
    path("admin/", admin.site.urls),
    path("", include("example_project.atlas.urls")),
    path("", include("django_sitemaps_plus.urls")),
]
