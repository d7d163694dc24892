"""What is asked of Bing Webmaster Tools, and what its answers mean."""

from __future__ import annotations

import pytest

from django_sitemaps_plus.exceptions import (
    BatchRejected,
    ConfigurationError,
    EngineRefused,
    RetryLater,
)
from django_sitemaps_plus.notifications import BingWebmaster, Takes
from tests.support.batches import INDEX, make_batch

KEY = "canary-of-bing"


class TestOptions:
    @pytest.mark.parametrize("key", [None, "two words", f"{KEY}\n", "\u00e9"])
    def test_a_key_that_is_none_is_refused_without_being_shown(self, key):
        """As one with the line end of the file that it was read from."""
        with pytest.raises(ConfigurationError, match="'api_key' of Bing") as caught:
            BingWebmaster(api_key=key)
        assert KEY not in str(caught.value)

    @pytest.mark.parametrize("option", ["site_url", "endpoint"])
    def test_a_url_that_is_none_is_refused(self, option):
        """Before anything is sent."""
        with pytest.raises(ConfigurationError, match=f"'{option}' of BingWebmaster"):
            BingWebmaster(api_key=KEY, **{option: "shop.example"})


class TestSend:
    def test_an_index_is_submitted_for_its_site(self, wire):
        """The key goes with the query, as the API has it."""
        assert (BingWebmaster.takes, BingWebmaster.max_batch) == (Takes.FEEDS, 1)
        BingWebmaster(api_key=KEY).send(make_batch())
        assert wire.asked == [
            {
                "method": "POST",
                "url": "https://ssl.bing.com/webmaster/api.svc/json/SubmitFeed",
                "json": {"siteUrl": "https://shop.example", "feedUrl": INDEX},
                "query": {"apikey": KEY},
            }
        ]

    @pytest.mark.parametrize(
        ("status", "body", "error"),
        [
            (400, {"ErrorCode": 3, "Message": "InvalidApiKey"}, EngineRefused),
            (400, {"ErrorCode": 4, "Message": "ThrottleUser"}, RetryLater),
            (400, {"ErrorCode": 7, "Message": "InvalidUrl"}, BatchRejected),
            (400, {"ErrorCode": "3"}, BatchRejected),
            (400, b"<html>", BatchRejected),
            (503, {"ErrorCode": 3}, RetryLater),
        ],
    )
    def test_an_error_is_told_by_its_code(self, wire, status, body, error):
        """Nearly all of them have the status 400."""
        wire.will_answer(status, body)
        with pytest.raises(error, match=str(status)):
            BingWebmaster(api_key=KEY).send(make_batch())

    def test_what_is_there_already_is_fine(self, wire):
        """It need not be added."""
        wire.will_answer(400, {"ErrorCode": 12, "Message": "AlreadyExists"})
        BingWebmaster(api_key=KEY).send(make_batch())
