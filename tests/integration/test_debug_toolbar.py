"""The panel in a real django-debug-toolbar."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client
from django.urls import include, path

from tests.support.configuring import configure
from tests.support.shop import limited, make_products
from tests.support.testapp.models import Product
from tests.support.urls import urlpatterns as usual

pytest.importorskip("debug_toolbar")
pytestmark = pytest.mark.django_db

PANEL = "django_sitemaps_plus.contrib.debug_toolbar.SitemapsPanel"
HISTORY = "debug_toolbar.panels.history.HistoryPanel"  # which numbers the requests


@pytest.fixture
def panel(settings: Any, client: Client) -> Callable[[str], str]:
    """Return what asks for a page, and then for the panel about it."""
    settings.STATIC_URL = "/static/"
    settings.INSTALLED_APPS = [*settings.INSTALLED_APPS, "debug_toolbar"]
    middleware = "debug_toolbar.middleware.DebugToolbarMiddleware"
    settings.MIDDLEWARE = [middleware, *settings.MIDDLEWARE]
    settings.DEBUG_TOOLBAR_PANELS = [HISTORY, PANEL]
    settings.DEBUG_TOOLBAR_CONFIG = {
        "SHOW_TOOLBAR_CALLBACK": lambda request: True,
        "IS_RUNNING_TESTS": False,
    }
    debugging = path("__debug__/", include("debug_toolbar.urls"))
    settings.ROOT_URLCONF = (debugging, *usual)

    def panel(address: str) -> str:
        response = client.get(address)
        assert response.status_code == 200
        # Before version 6 it was called store_id.
        [number] = [v for k, v in response.items() if k.startswith("djdt-")][:1]
        given = {"request_id": number, "store_id": number, "panel_id": "SitemapsPanel"}
        return str(client.get("/__debug__/render_panel/", given).json()["content"])

    return panel


def test_it_says_where_the_page_is_listed(panel, products):
    """And how many changes wait, with the way to the dashboard."""
    product = Product.objects.get(slug="product-00012")
    product.save()
    found = panel("/products/product-00012/")
    assert "It is listed on page 2 of section products." in found
    assert "1 change waits for a build." in found
    assert 'href="/admin/sitemaps_plus/dashboard/"' in found


def test_a_developer_needs_no_base_url(panel, sections, settings):
    configure(settings, BASE_URL=None)
    settings.DEBUG = True
    sections.register("products", limited(5))
    make_products(1)
    found = panel("/products/product-00000/")
    assert "It is listed on page 1 of section products" in found


def test_it_says_why_the_page_is_not_listed(panel, sections):
    class Published(limited(5)):
        def get_queryset(self):
            return Product.objects.filter(published=True)

    sections.register("products", Published)
    make_products(1, published=False, name="<script>")
    found = panel("/products/product-00000/")
    assert "its published is False" in found
    assert "No URL pattern" not in found
    assert "to no row of a section" in panel("/about/")


def test_no_page_fails_because_of_it(panel, settings, sections, monkeypatch):
    monkeypatch.setattr(
        "django_sitemaps_plus.contrib.debug_toolbar.explain_url", lambda *args: 1 / 0
    )
    assert "ZeroDivisionError" in panel("/about/")
    configure(settings, BASE_URL="")
    assert "Sitemap URLs have no origin" in panel("/about/")
