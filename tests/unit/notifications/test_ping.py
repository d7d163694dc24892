"""What is submitted to an endpoint for pings."""

from __future__ import annotations

import pytest

from django_sitemaps_plus.exceptions import ConfigurationError, EngineRefused
from django_sitemaps_plus.notifications import Ping, Takes
from tests.support.batches import INDEX, make_batch


@pytest.mark.parametrize(
    "endpoint",
    [
        *(None, "", "/ping", 5, "https://engine.example/ping?sitemap="),
        *("http://engine.example/ping", "https://0x7f.1/", "ftp://a.example/"),
        "https://user:canary@engine.example/ping",
    ],
)
def test_an_endpoint_that_is_not_a_plain_https_url_is_refused(endpoint):
    """It has no default; credentials in it are not shown."""
    with pytest.raises(ConfigurationError, match="'endpoint' of Ping") as caught:
        Ping(endpoint=endpoint)
    assert "canary" not in str(caught.value)


def test_an_index_goes_into_the_query(wire):
    """By GET, and again when its content changes."""
    assert (Ping.takes, Ping.max_batch) == (Takes.FEEDS, 1)
    assert Ping.follows_content
    Ping(endpoint="https://engine.example/ping").send(make_batch())
    assert wire.asked == [
        {
            "method": "GET",
            "url": "https://engine.example/ping",
            "query": {"sitemap": INDEX},
        }
    ]


def test_an_endpoint_that_is_gone_refuses(wire):
    """As those of Google and Bing do."""
    wire.will_answer(410)
    with pytest.raises(EngineRefused, match="410"):
        Ping(endpoint="https://engine.example/ping").send(make_batch())
