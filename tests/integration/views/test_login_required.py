"""A project may require a login everywhere, and crawlers still have no account."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from django.contrib.sitemaps import GenericSitemap
from django.urls import include, path
from django.views.decorators.cache import cache_page

import django_sitemaps_plus
from django_sitemaps_plus.contrib import views as drop_in
from tests.support.key_files import ENGINES
from tests.support.key_files import PATH as KEY_PATH
from tests.support.testapp.models import Product
from tests.support.urls import urlpatterns as usual

PATHS = [
    *("/sitemap.xml", "/sitemap_index.xml", "/sitemap.xml.gz"),
    *("/sitemap-products-1.xml", "/sitemap-products-2.xml.gz"),
    *("/sitemap-products-1.txt", "/sitemap-products-2.txt.gz"),
    *("/sitemap-products.rss", "/sitemap-products.atom.gz"),
    *("/robots.txt", KEY_PATH, "/sitemap/", "/sitemap/products/"),
    *("/theirs.xml", "/theirs-products.xml"),
]


class Project:
    """A URLconf with all that is ours, and views in the place of contrib's."""

    sitemaps = {"products": GenericSitemap({"queryset": Product.objects.all()})}
    of_url = {"sitemaps": sitemaps}
    urlpatterns = [
        *usual,
        path("theirs.xml", drop_in.index, {**of_url, "sitemap_url_name": "theirs"}),
        path(
            "theirs-<section>.xml",
            cache_page(60)(drop_in.sitemap),
            of_url,
            name="theirs",
        ),
        path("", include("django.contrib.auth.urls")),
    ]


def callbacks() -> Iterator[Any]:
    """Yield the view of each of our URLs, also of modules yet to be written."""
    root = Path(django_sitemaps_plus.__file__).parent
    for file in root.rglob("*.py"):
        if "\nurlpatterns = [" in file.read_text():
            name = ".".join(file.relative_to(root.parent).with_suffix("").parts)
            yield from [it.callback for it in import_module(name).urlpatterns]
    yield from (drop_in.index, drop_in.sitemap)


def test_no_view_of_ours_requires_a_login():
    """Views for monitors, which decide by themselves, are among them."""
    found = list(callbacks())
    assert len(found) > 20
    refusing = [it for it in found if getattr(it, "login_required", True)]
    assert refusing == []


@pytest.mark.parametrize("url", PATHS)
def test_crawlers_need_not_log_in(client, served, settings, configure, url):
    configure(ENGINES=ENGINES, ROBOTS={})
    required = "django.contrib.auth.middleware.LoginRequiredMiddleware"
    settings.MIDDLEWARE = [*settings.MIDDLEWARE, required]
    settings.ROOT_URLCONF = Project
    assert client.get("/about/").status_code == 302
    assert client.get(url).status_code == 200
    assert client.head(url).status_code == 200


def test_an_old_url_leads_to_its_page(client, served, settings):
    """Rather than to the login."""
    required = "django.contrib.auth.middleware.LoginRequiredMiddleware"
    settings.MIDDLEWARE = [*settings.MIDDLEWARE, required]
    response = client.get("/sitemap-products.xml")
    assert (response.status_code, response["Location"]) == (
        301,
        "/sitemap-products-1.xml",
    )
