"""What is asked of an endpoint for pings."""

from __future__ import annotations

import pytest

from django_sitemaps_plus.exceptions import ConfigurationError, EngineRefused
from django_sitemaps_plus.notifications import Ping, Takes
from tests.support.batches import INDEX, make_batch


class TestOptions:
    @pytest.mark.parametrize(
        "endpoint",
        [
            *(None, "", "/ping", 5, "https://engine.example/ping?sitemap="),
            *("http://engine.example/ping", "https://0x7f.1/", "ftp://a.example/"),
        ],
    )
    def test_an_endpoint_that_is_no_plain_https_url_is_refused(self, endpoint):
        """There is no default, and the query is added here."""
        with pytest.raises(ConfigurationError, match="'endpoint' of Ping"):
            Ping(endpoint=endpoint)

    def test_credentials_in_an_endpoint_are_not_shown(self):
        """They are refused, and stay secret."""
        with pytest.raises(ConfigurationError) as caught:
            Ping(endpoint="https://user:canary@engine.example/ping")
        assert "canary" not in str(caught.value)
        assert caught.value.__context__ is None


class TestSend:
    def test_an_index_is_told_in_the_query(self, wire):
        """By GET, as it always was."""
        Ping(endpoint="https://engine.example/ping").send(make_batch())
        assert wire.asked == [
            {
                "method": "GET",
                "url": "https://engine.example/ping",
                "query": {"sitemap": INDEX},
            }
        ]

    def test_it_is_told_again_when_the_content_changes(self):
        """A ping says nothing else."""
        assert (Ping.takes, Ping.max_batch) == (Takes.FEEDS, 1)
        assert Ping.follows_content

    @pytest.mark.parametrize("status", [404, 410])
    def test_an_endpoint_that_is_gone_is_told_no_more(self, wire, status):
        """As those of Google and Bing are."""
        wire.will_answer(status)
        with pytest.raises(EngineRefused, match=str(status)):
            Ping(endpoint="https://engine.example/ping").send(make_batch())
