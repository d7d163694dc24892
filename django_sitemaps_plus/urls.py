"""The URLs of sitemaps; include them at the root of the site."""

from __future__ import annotations

from django.urls import path, re_path, register_converter

from . import views

app_name = "sitemaps_plus"

_INDEX = r"^sitemaps-(?P<number>[2-9]|[1-9][0-9]{1,5})\.xml"
_PAGE = r"^sitemap-(?P<section>[a-z0-9_-]{1,64})-(?P<number>[1-9][0-9]{0,8})"

# These decide when a URL is asked for, not when this module is loaded.
register_converter(views.RobotsConverter, "sitemaps_plus_robots")
register_converter(views.KeyFileConverter, "sitemaps_plus_key_file")

urlpatterns = [
    path("sitemap.xml", views.index, name="index"),
    path("sitemap.xml.gz", views.index, {"as_file": True}, name="index-file"),
    re_path(_INDEX + r"\Z", views.index, name="index-more"),
    re_path(_INDEX + r"\.gz\Z", views.index, {"as_file": True}, name="index-more-file"),
    re_path(_PAGE + r"\.xml\Z", views.page, name="page"),
    re_path(_PAGE + r"\.xml\.gz\Z", views.page, {"as_file": True}, name="page-file"),
    path("<sitemaps_plus_robots:name>", views.text_file, name="robots"),
    path("<sitemaps_plus_key_file:name>", views.text_file, name="key-file"),
]
