"""No request, however odd, breaks the views in the place of contrib's."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any
from urllib.parse import quote

from lxml import etree

from tests.integration.sources import contrib_zoo as zoo
from tests.reliability.tools.odd_requests import HEADERS, is_allowed
from tests.support.shop import make_products

from . import urls

PATHS = ("index.xml", "all.xml", "sitemap-products.xml", "sitemap-gr%C3%B6%C3%9Fe.xml")
ODD_PATHS = ("sitemap-x%00.xml", "sitemap-%F0%28.xml", "own.xml", "own-index.xml")
PAGES = ("1", "2", "3", "0", "-1", "٢", "1_0", " 1", "1e3", "9" * 5_000, "\x00", "")
MIDDLEWARE = [
    "django.middleware.locale.LocaleMiddleware",
    "django.middleware.http.ConditionalGetMiddleware",
    "django.middleware.gzip.GZipMiddleware",
]


def test_odd_requests_are_refused_or_answered(client: Any, settings: Any) -> None:
    """Odd hosts, pages, methods and headers; every document that is sent is XML."""
    settings.SITEMAPS_PLUS = {"LIVE_CACHE_SECONDS": 60}
    settings.MIDDLEWARE = MIDDLEWARE
    make_products(9)
    urls.sitemaps["products"] = type("Four", (zoo.Plain,), {"limit": 4})
    urls.sitemaps["größe"] = zoo.OfNames
    chance, seen = random.Random(1), Counter[int]()
    headers = HEADERS | {"Host": (*HEADERS["Host"], "evil.example:99999")}
    for _ in range(300):
        names = chance.sample(list(headers), chance.choice([0, 1, 1, 2, 3]))
        odd = {name: chance.choice(headers[name]) for name in names}
        method = chance.choice(["GET", "GET", "GET", "HEAD", "POST"])
        path = f"/ours/{chance.choice([*PATHS, *PATHS, *ODD_PATHS])}"
        path += f"?p={quote(chance.choice(PAGES))}"
        page = client.generic(method, path, headers=odd, secure=chance.random() < 0.5)
        seen[page.status_code] += 1
        assert is_allowed(page.status_code, method, odd), (path, odd)
        is_plain = "Content-Encoding" not in page and "own" not in path
        if page.status_code == 200 and page.content and is_plain:
            etree.fromstring(page.content)
    assert {200, 304, 400, 404, 405} <= seen.keys()
