"""Engines that tell a local one."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

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


def make_indexnow(server: LocalEngine, key: str = KEY) -> Engine:
    """Return an engine that tells the server."""
    return IndexNow(key=key, endpoint=f"{server.url}/indexnow")


def make_search_console(server: LocalEngine, **options: Any) -> Engine:
    """Return an engine with an account that the server knows."""
    key = Secret(json.dumps(make_service_account(server.state)))
    endpoint = f"{server.url}/webmasters/v3"
    return SearchConsole(service_account_key=key, endpoint=endpoint, **options)


def make_bing(server: LocalEngine, api_key: str = BING_KEY) -> Engine:
    """Return an engine that tells the server."""
    return BingWebmaster(api_key=api_key, endpoint=f"{server.url}/bing/SubmitFeed")


def make_yandex(
    server: LocalEngine, token: str = YANDEX_TOKEN, user_id: int = 42
) -> Engine:
    """Return an engine that tells the server."""
    return YandexWebmaster(
        user_id=user_id,
        host_id="https:shop.example:443",
        token=token,
        endpoint=f"{server.url}/yandex/v4",
    )


def make_baidu(server: LocalEngine, token: str = BAIDU_TOKEN, **options: Any) -> Engine:
    """Return an engine that tells the server."""
    return Baidu(token=token, endpoint=f"{server.url}/baidu/urls", **options)


def make_websub(server: LocalEngine) -> Engine:
    """Return an engine that tells the server."""
    return WebSub(hub=f"{server.url}/hub", topics=[NEWS])


def make_ping(server: LocalEngine) -> Engine:
    """Return an engine that tells the server."""
    return Ping(endpoint=f"{server.url}/ping")


MAKERS: dict[str, tuple[Callable[[LocalEngine], Engine], str]] = {
    "indexnow": (make_indexnow, URL),
    "search_console": (make_search_console, INDEX),
    "bing": (make_bing, INDEX),
    "yandex": (make_yandex, INDEX),
    "baidu": (make_baidu, URL),
    "hub": (make_websub, NEWS),
    "ping": (make_ping, INDEX),
}
