"""Notifications: from publications to search engines."""

from __future__ import annotations

from django_sitemaps_plus.exceptions import (
    BatchRejected,
    EngineError,
    EngineRefused,
    RetryLater,
)

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
    "BatchRejected",
    "BingWebmaster",
    "Engine",
    "EngineError",
    "EngineRefused",
    "IndexNow",
    "Ping",
    "RetryLater",
    "SearchConsole",
    "Secret",
    "Takes",
    "WebSub",
    "YandexWebmaster",
]
