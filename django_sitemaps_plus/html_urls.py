"""The URLs of the HTML site map; include them where people shall find it."""

from __future__ import annotations

from django.urls import path

from .views.html_site_map import site_map

app_name = "sitemaps_plus_html"

urlpatterns = [
    path("", site_map, name="site_map"),
    path("<str:section>/", site_map, name="section"),
    path("<str:section>/<int:number>/", site_map, name="part"),
]
