"""Origins come from settings, never from the request."""

from __future__ import annotations

from typing import Any

import pytest
from django.core.management import CommandError, call_command

from tests.support.documents import locs, read_index
from tests.support.shop import ProductSource, make_products

PAGE = "/sitemap-products-1.xml"

COMMANDS = [
    ["build_sitemaps"],
    ["build_sitemaps", "--dry-run"],
    ["check_sitemaps", "--sources"],
    ["notify_search_engines"],
    ["prune_sitemaps"],
    ["sitemap_status"],
]


@pytest.fixture(autouse=True)
def products(sections: Any) -> None:
    make_products(1)
    sections.register("products", ProductSource)


class TestBaseUrl:
    @pytest.mark.parametrize(
        ("base_url", "origin", "path"),
        [
            ("https://shop.example/", "https://shop.example", ""),
            ("http://shop.example:8080", "http://shop.example:8080", ""),
            ("https://shop.example/app", "https://shop.example", "/app"),
            ("https://Bücher.example/ü", "https://xn--bcher-kva.example", "/%C3%BC"),
        ],
    )
    def test_locations_begin_with_it(self, client, settings, base_url, origin, path):
        settings.SITEMAPS_PLUS = {"BASE_URL": base_url}
        assert list(read_index(client.get("/sitemap.xml").content)) == [
            f"{origin}{path}{PAGE}"
        ]
        assert locs(client.get(PAGE).content) == [
            f"{origin}{path}/products/product-00000/"
        ]
        settings.FORCE_SCRIPT_NAME = "/forced"
        assert locs(client.get(PAGE).content) == [
            f"{origin}/forced/products/product-00000/"
        ]


class TestWithoutBaseUrl:
    @pytest.mark.parametrize("debug", [False, True])
    def test_the_current_site_is_https(self, client, settings, django_site, debug):
        """contrib.sites knows no scheme; DEBUG helps only where nothing else does."""
        settings.SITEMAPS_PLUS, settings.DEBUG = {}, debug
        response = client.get(PAGE, headers={"Host": "elsewhere.example"})
        assert locs(response.content) == [
            "https://sites.example/products/product-00000/"
        ]
        settings.SITEMAPS_PLUS = {"SCHEME": "http"}
        assert list(read_index(client.get("/sitemap.xml").content)) == [
            f"http://sites.example{PAGE}"
        ]

    def test_with_neither_the_host_is_used_under_debug(self, client, settings):
        """For a first look, and each host has entries of its own."""
        settings.SITEMAPS_PLUS, settings.DEBUG = {}, True
        for host in ("localhost:8000", "127.0.0.1:8000"):
            response = client.get(PAGE, headers={"Host": host})
            assert locs(response.content) == [f"http://{host}/products/product-00000/"]

    @pytest.mark.parametrize("path", ["/sitemap.xml", PAGE, f"{PAGE}.gz"])
    def test_with_neither_there_is_no_sitemap(self, client, settings, messages, path):
        """Without DEBUG the request never gives the origin."""
        settings.SITEMAPS_PLUS = {}
        assert_unavailable(client.get(path))
        assert "Set SITEMAPS_PLUS['BASE_URL']" in messages("live_failed")[0]

    def test_nor_without_a_current_site(self, client, settings, django_site, messages):
        """SITE_ID is missing."""
        settings.SITEMAPS_PLUS = {}
        del settings.SITE_ID
        assert_unavailable(client.get(PAGE))
        assert "Set SITE_ID" in messages("live_failed")[0]

    @pytest.mark.parametrize("command", COMMANDS)
    def test_commands_say_what_to_do(self, settings, command):
        settings.SITEMAPS_PLUS = {}
        with pytest.raises(CommandError, match=r"SITEMAPS_PLUS\['BASE_URL'\]"):
            call_command(*command, skip_checks=True)


def assert_unavailable(response: Any) -> None:
    assert response.status_code == 503
    assert response["Retry-After"] == "120"
