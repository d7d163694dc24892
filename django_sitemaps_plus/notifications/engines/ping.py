"""Ping: the classic ``GET <endpoint>?sitemap=<url>``, for who still answers it."""

from __future__ import annotations

from typing import ClassVar

from django_sitemaps_plus.notifications.base import Batch, Engine, Takes
from django_sitemaps_plus.notifications.http import accepted, request
from django_sitemaps_plus.notifications.options import endpoint_option


class Ping(Engine):
    """Tells an endpoint of your choice where an index is that has changed.

    There is no default: the endpoints of Google, Bing and Baidu are gone.

    Args:
        endpoint: the URL that comes before ``?sitemap=``.

    Raises:
        ConfigurationError: it is missing, no absolute URL, or has a query.
    """

    takes: ClassVar[Takes] = Takes.FEEDS
    max_batch: ClassVar[int] = 1
    follows_content: ClassVar[bool] = True

    def __init__(self, *, endpoint: str | None = None) -> None:
        self._endpoint = endpoint_option(self, "endpoint", endpoint)

    def send(self, batch: Batch) -> None:
        """Tell where one index is."""
        [target] = batch.targets
        accepted(request("GET", self._endpoint, query={"sitemap": target}))
