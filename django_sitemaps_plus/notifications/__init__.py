"""Telling search engines what has changed."""

from __future__ import annotations

from django_sitemaps_plus.exceptions import (
    BatchRejected,
    EngineError,
    EngineRefused,
    RetryLater,
)

from .baidu import Baidu
from .base import Batch, Engine, Takes
from .bing import BingWebmaster
from .google import SearchConsole
from .indexnow import IndexNow
from .ping import Ping
from .secrets import Secret
from .websub import WebSub
from .yandex import YandexWebmaster

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
