"""The URLs of sitemaps; include them at the root of the site."""

from __future__ import annotations

from django.urls import path, re_path, register_converter

from . import views

app_name = "sitemaps_plus"

_INDEX = r"^sitemaps-(?P<number>[2-9]|[1-9][0-9]{1,5})\.xml"
# Databases refuse control characters.
_SECTION = r"^sitemap-(?P<section>[^/\x00-\x1f]{1,64})"
_PAGE = _SECTION + r"-(?P<number>[1-9][0-9]{0,8})"
_FEED = _SECTION + r"\.(?P<form>rss|atom)"

_FILE = {"as_file": True}

# These decide when a URL is asked for, not when this module is loaded.
register_converter(views.RobotsConverter, "sitemaps_plus_robots")
register_converter(views.KeyFileConverter, "sitemaps_plus_key_file")

urlpatterns = [
    path("sitemap.xml", views.index, name="index"),
    path("sitemap_index.xml", views.index, name="index-alias"),
    path("sitemap.xml.gz", views.index, _FILE, name="index-file"),
    re_path(_INDEX + r"\Z", views.index, name="index-more"),
    re_path(_INDEX + r"\.gz\Z", views.index, _FILE, name="index-more-file"),
    re_path(_PAGE + r"\.xml\Z", views.page, name="page"),
    re_path(_PAGE + r"\.xml\.gz\Z", views.page, _FILE, name="page-file"),
    # After pages: the name of a section may end like one.
    re_path(_SECTION + r"\.xml\Z", views.moved, name="moved"),
    re_path(_PAGE + r"\.txt\Z", views.text, name="text-page"),
    re_path(_PAGE + r"\.txt\.gz\Z", views.text, _FILE, name="text-page-file"),
    re_path(_SECTION + r"\.txt\Z", views.text, name="text"),
    re_path(_SECTION + r"\.txt\.gz\Z", views.text, _FILE, name="text-file"),
    re_path(_FEED + r"\Z", views.feed, name="feed"),
    re_path(_FEED + r"\.gz\Z", views.feed, _FILE, name="feed-file"),
    path("<sitemaps_plus_robots:name>", views.text_file, name="robots"),
    path("<sitemaps_plus_key_file:name>", views.text_file, name="key-file"),
]
