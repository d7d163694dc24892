"""The URLs for monitors; include them anywhere."""

from __future__ import annotations

from django.urls import path

from . import monitoring

app_name = "sitemaps_plus_monitoring"

urlpatterns = [
    path("health/", monitoring.health, name="health"),
    path("metrics/", monitoring.metrics, name="metrics"),
]
