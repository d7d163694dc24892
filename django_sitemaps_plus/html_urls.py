"""The URLs of the HTML site map; include them where people shall find it."""

from __future__ import annotations

from django.urls import path

from . import views

app_name = "sitemaps_plus_html"

urlpatterns = [
    path("", views.site_map, name="site_map"),
    path("<str:section>/", views.site_map, name="section"),
    path("<str:section>/<int:number>/", views.site_map, name="part"),
]
