"""Sitemaps, and pages below their languages."""

from __future__ import annotations

from django.conf.urls.i18n import i18n_patterns
from django.http import HttpResponse
from django.urls import include, path

urlpatterns = [
    path("", include("django_sitemaps_plus.urls")),
    *i18n_patterns(
        path("products/<slug:slug>/", HttpResponse, name="product"),
        path("articles/<slug:slug>/", HttpResponse, name="article"),
        path("", include("wagtail.urls")),
    ),
]
