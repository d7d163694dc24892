"""Sitemaps, the shop, and Wagtail's pages."""

from __future__ import annotations

from django.apps import apps
from django.urls import include, path

urlpatterns = [
    path("", include("django_sitemaps_plus.urls")),
    path("shop/", include(apps.get_app_config("oscar").urls[0])),
    path("", include("wagtail.urls")),
]
