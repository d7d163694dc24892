"""WebSub: a hub is notified of new content in feeds, and notifies subscribers."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import ClassVar

from django_sitemaps_plus.conf import Site
from django_sitemaps_plus.notifications.base import Batch, Engine, Takes
from django_sitemaps_plus.notifications.configuration import (
    bad_option,
    encoded_url,
    endpoint_option,
)
from django_sitemaps_plus.notifications.http import accepted, request


class WebSub(Engine):
    """Notifies one hub of topics: feeds that name it as their hub.

    Args:
        hub: its URL.
        topics: the URLs of the feeds, exactly as their own ``self`` links have them.
    """

    takes: ClassVar[Takes] = Takes.FEEDS
    max_batch: ClassVar[int] = 100
    follows_content: ClassVar[bool] = True

    def __init__(
        self, *, hub: str | None = None, topics: Sequence[str] | None = None
    ) -> None:
        self._hub = endpoint_option(self, "hub", hub, may_have_query=True)
        given = list(topics) if isinstance(topics, list | tuple) else []
        if not given or not all(_is_topic(topic) for topic in given):
            raise bad_option(
                self,
                "topics",
                "a list of absolute URLs of feeds, percent-encoded, such as "
                "['https://shop.example/news.atom']",
            )
        self._topics = list(dict.fromkeys(given))

    def send(self, batch: Batch) -> None:
        """Submit up to 100 topics, which the hub then fetches."""
        topics = [("hub.url", target) for target in batch.targets]
        form = [("hub.mode", "publish"), *topics]
        accepted(request("POST", self._hub, form=form))

    def feeds(self, site: Site, indexes: Collection[str]) -> Collection[str]:
        """Return the topics: a hub does not take sitemaps."""
        return self._topics


def _is_topic(topic: object) -> bool:
    # A hub compares them character by character, so they must be encoded already.
    return isinstance(topic, str) and encoded_url(topic) == topic
