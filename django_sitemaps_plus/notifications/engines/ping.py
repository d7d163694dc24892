"""Ping: the classic ``GET <endpoint>?sitemap=<url>``, where it is still answered."""

from __future__ import annotations

from typing import ClassVar

from django_sitemaps_plus.notifications.base import Batch, Engine, Takes
from django_sitemaps_plus.notifications.configuration import endpoint_option
from django_sitemaps_plus.notifications.http import accepted, request


class Ping(Engine):
    """Notifies an endpoint of your choice that an index has changed.

    There is no default: the endpoints of Google, Bing and Baidu no longer exist.

    Args:
        endpoint: the URL before ``?sitemap=``.
    """

    takes: ClassVar[Takes] = Takes.FEEDS
    follows_content: ClassVar[bool] = True

    def __init__(self, *, endpoint: str | None = None) -> None:
        self.endpoint = endpoint_option(self, "endpoint", endpoint)

    def send(self, batch: Batch) -> None:
        """Submit one index."""
        [target] = batch.targets
        accepted(request("GET", self.endpoint, query={"sitemap": target}))
