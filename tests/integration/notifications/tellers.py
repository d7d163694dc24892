"""Engines that tell a local one."""

from __future__ import annotations

import json
from collections.abc import Callable

from django_sitemaps_plus.notifications import (
    Baidu,
    BingWebmaster,
    Engine,
    IndexNow,
    Ping,
    SearchConsole,
    Secret,
    WebSub,
    YandexWebmaster,
)
from tests.support.batches import INDEX
from tests.support.servers.engine import LocalEngine
from tests.support.servers.engine_rules import BAIDU_TOKEN, BING_KEY, YANDEX_TOKEN
from tests.support.servers.service_account import make_service_account

KEY = "0123456789abcdef"
URL = "https://shop.example/caf%C3%A9?a=1&b=%20"
NEWS = "https://shop.example/news.atom?lang=de&full=1"


def make_indexnow(server: LocalEngine) -> Engine:
    """Return an engine that tells the server."""
    return IndexNow(key=KEY, endpoint=f"{server.url}/indexnow")


def make_search_console(server: LocalEngine) -> Engine:
    """Return an engine with an account that the server knows."""
    key = Secret(json.dumps(make_service_account(server.state)))
    endpoint = f"{server.url}/webmasters/v3"
    return SearchConsole(service_account_key=key, endpoint=endpoint)


def make_yandex(server: LocalEngine) -> Engine:
    """Return an engine that tells the server."""
    return YandexWebmaster(
        user_id=42,
        host_id="https:shop.example:443",
        token=YANDEX_TOKEN,
        endpoint=f"{server.url}/yandex/v4",
    )


MAKERS: dict[str, tuple[Callable[[LocalEngine], Engine], str]] = {
    "indexnow": (make_indexnow, URL),
    "search_console": (make_search_console, INDEX),
    "bing": (
        lambda server: BingWebmaster(
            api_key=BING_KEY, endpoint=f"{server.url}/bing/SubmitFeed"
        ),
        INDEX,
    ),
    "yandex": (make_yandex, INDEX),
    "baidu": (
        lambda server: Baidu(token=BAIDU_TOKEN, endpoint=f"{server.url}/baidu/urls"),
        URL,
    ),
    "hub": (lambda server: WebSub(hub=f"{server.url}/hub", topics=[NEWS]), NEWS),
    "ping": (lambda server: Ping(endpoint=f"{server.url}/ping"), INDEX),
}
