"""Notifications: from publications to search engines."""

from __future__ import annotations

from .base import Batch, Engine, Takes
from .engines.baidu import Baidu
from .engines.bing import BingWebmaster
from .engines.google import SearchConsole
from .engines.indexnow import IndexNow
from .engines.ping import Ping
from .engines.websub import WebSub
from .engines.yandex import YandexWebmaster
from .secrets import Secret

__all__ = [
    "Baidu",
    "Batch",
    "BingWebmaster",
    "Engine",
    "IndexNow",
    "Ping",
    "SearchConsole",
    "Secret",
    "Takes",
    "WebSub",
    "YandexWebmaster",
]
