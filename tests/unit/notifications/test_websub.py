"""What is asked of a hub."""

from __future__ import annotations

from typing import Any

import pytest

from django_sitemaps_plus.exceptions import (
    BatchRejected,
    ConfigurationError,
    RetryLater,
)
from django_sitemaps_plus.notifications import Takes, WebSub
from tests.support.batches import INDEX, SITE, make_batch

HUB = "https://hub.example/"
NEWS = "https://shop.example/news.atom"
BLOG = "https://shop.example/blog.rss?full=1&lang=de"


class TestOptions:
    @pytest.mark.parametrize(
        "hub", [None, "hub.example", "https://a.example/#b", "http://a.example/"]
    )
    def test_a_hub_that_is_no_url_is_refused(self, hub):
        """Nobody could be asked."""
        with pytest.raises(ConfigurationError, match="'hub' of WebSub"):
            WebSub(hub=hub, topics=[NEWS])

    @pytest.mark.parametrize(
        "topics",
        [
            *(None, [], NEWS, ["/news.atom"], [NEWS, None]),
            ["https://shop.example/n\u00e9ws.atom"],
            ["HTTPS://Shop.example/news.atom"],
        ],
    )
    def test_topics_that_are_no_list_of_encoded_urls_are_refused(self, topics: Any):
        """A hub would take another spelling for another topic."""
        with pytest.raises(ConfigurationError, match="'topics' of WebSub"):
            WebSub(hub=HUB, topics=topics)


class TestFeeds:
    def test_its_targets_are_its_topics(self):
        """Each once; no index is one."""
        engine = WebSub(hub=HUB, topics=(NEWS, BLOG, NEWS))
        assert list(engine.feeds(SITE, [INDEX])) == [NEWS, BLOG]

    def test_it_is_told_again_when_their_content_changes(self):
        """That is what a hub is for."""
        assert WebSub.takes is Takes.FEEDS
        assert WebSub.follows_content


class TestSend:
    def test_topics_are_published_in_one_form(self, wire):
        """The field is repeated for each."""
        WebSub(hub=HUB, topics=[NEWS, BLOG]).send(make_batch(NEWS, BLOG))
        assert wire.asked == [
            {
                "method": "POST",
                "url": HUB,
                "form": [
                    ("hub.mode", "publish"),
                    ("hub.url", NEWS),
                    ("hub.url", BLOG),
                ],
            }
        ]

    @pytest.mark.parametrize(
        ("status", "error"), [(400, BatchRejected), (503, RetryLater)]
    )
    def test_an_error_has_the_hubs_words(self, wire, status, error):
        """They say which topic it does not know."""
        wire.will_answer(status, b"unknown topic")
        with pytest.raises(error, match=f"{status}.*unknown topic"):
            WebSub(hub=HUB, topics=[NEWS]).send(make_batch(NEWS))
