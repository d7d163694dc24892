"""Requests that no page makes: each is answered, and none is an error of the server."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

import pytest

DASHBOARD = "/desk/sitemaps_plus/dashboard/"
EXCLUSIONS = "/desk/sitemaps_plus/exclusion/"

VALUES = [
    *("", "-1", "1e3", str(10**30), "9" * 5_000, "x" * 5_000),
    *("\u0661\u0662", "\u00b2", "1\x00", "%", "..", "\U0001f4a9"),
]
ENCODED = [*map(quote, VALUES), "%ed%a0%80", "%ff"]

URLS = [
    f"{DASHBOARD}?site={{}}",
    f"{DASHBOARD}section/?section={{}}",
    f"{DASHBOARD}section/?section=products&from={{}}",
    f"{DASHBOARD}section/entries/?section=products&number={{}}",
    f"{DASHBOARD}section/entries/?section=products&number=1&page={{}}",
    f"{DASHBOARD}section/entries/?section=products&number=1&q={{}}",
    f"{DASHBOARD}section/entries/?section={{}}&number=1",
    f"{DASHBOARD}actions/{{}}/",
    f"{DASHBOARD}actions/refresh/?section={{}}",
    f"{DASHBOARD}actions/pause/?engine={{}}",
    *[f"{EXCLUSIONS}?{name}={{}}" for name in ("q", "p", "o", "e", "model")],
    f"{EXCLUSIONS}{{}}/delete/",
    "/desk/testapp/product/{}/sitemap/",
    "/monitoring/health/?max_age={}",
    "/monitoring/health/?site={}",
]


#: What forms send, by their actions.
FORMS = [("submit", "urls"), ("submit", "site"), ("rebuild", "section")]
FORMS += [("resume", "engine")]


@pytest.fixture
def asked(settings: Any, products: Any, admin_client: Any) -> Any:
    """Have pages, and an admin that has all of ours; return who asks it."""
    settings.ROOT_URLCONF = "tests.integration.admin.test_objects"
    admin_client.raise_request_exception = False
    return admin_client


def test_odd_values_are_answered(asked):
    """With a page, a redirect, or why there is none."""
    given = [(url, value) for url in URLS for value in ENCODED]
    found = [(asked.get(it.format(v)).status_code, it, v[:9]) for it, v in given]
    assert [it for it in found if it[0] not in (200, 302, 400, 404)] == []


def test_odd_forms_are_answered(asked):
    """So are they where they are not sent as forms."""
    found = []
    for name, key in FORMS:
        address = f"{DASHBOARD}actions/{name}/"
        for value in VALUES:
            answer = asked.post(address, {"urls": "/", key: value})
            found.append((answer.status_code, name, key, value[:9]))
        for kind in ("application/json", "multipart/form-data", "text/plain"):
            answer = asked.post(address, b"\xff{", content_type=kind)
            found.append((answer.status_code, name, kind))
    assert [it for it in found if it[0] not in (200, 302, 400, 404)] == []


@pytest.mark.parametrize("page", ["", "problems/"])
def test_a_developer_needs_no_base_url(asked, sections, settings, configure, page):
    """With DEBUG the site is that of the request, as it is for the sitemaps."""
    configure(BASE_URL=None)
    assert "Sitemap URLs have no origin" in asked.get(DASHBOARD + page).text
    settings.DEBUG = True
    shown = asked.get(DASHBOARD + page)
    assert "Sitemap URLs have no origin" not in shown.text
    assert "products" in shown.text or page == "problems/"
