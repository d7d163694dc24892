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
    get_engines,
)
from django_sitemaps_plus.notifications.http import accepted, request
from django_sitemaps_plus.registry import registry
from django_sitemaps_plus.site_urls import feed_urls


class WebSub(Engine):
    """Notifies one hub of topics: feeds that name it as their hub.

    Args:
        hub: its URL.
        topics: the URLs of the feeds, exactly as their own ``self`` links have them;
            by default the feeds of all sections.
    """

    takes: ClassVar[Takes] = Takes.FEEDS
    max_batch: ClassVar[int] = 100
    follows_content: ClassVar[bool] = True

    def __init__(
        self, *, hub: str | None = None, topics: Sequence[str] | None = None
    ) -> None:
        self.endpoint = endpoint_option(self, "hub", hub, may_have_query=True)
        given = list(topics) if isinstance(topics, list | tuple) else []
        # A hub compares topics character by character: they must be encoded already.
        encoded = [encoded_url(topic) for topic in given]
        if topics is not None and (not given or None in encoded or encoded != given):
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
        accepted(request("POST", self.endpoint, form=form))

    def feeds(self, site: Site, indexes: Collection[str]) -> Collection[str]:
        """Return the topics: a hub does not take sitemaps."""
        return self._topics or feed_urls(site, registry)

    def follows(self, url: str) -> bool:
        """Return whether a feed of a section is among the topics."""
        return not self._topics or url in self._topics


def hubs_of(url: str) -> list[str]:
    """Return the URLs of the hubs that are notified of a feed of a section."""
    engines = [it for it in get_engines().values() if isinstance(it, WebSub)]
    return [engine.endpoint for engine in engines if engine.follows(url)]
