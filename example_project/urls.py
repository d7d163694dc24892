"""URLs of the example project: the admin, the atlas and its sitemaps."""

from __future__ import annotations

from django.conf.urls.i18n import i18n_patterns
from django.contrib import admin
from django.urls import include, path

urlpatterns = [
    path("admin/", admin.site.urls),
    path("monitoring/", include("django_sitemaps_plus.monitoring_urls")),
    path("", include("django_sitemaps_plus.urls")),
    *i18n_patterns(
        path("", include("example_project.atlas.urls")),
        path("sitemap/", include("django_sitemaps_plus.html_urls")),
        prefix_default_language=False,
    ),
]
