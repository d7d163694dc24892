"""What is asked of IndexNow, and what its answers mean."""

from __future__ import annotations

import pytest

from django_sitemaps_plus.conf import Site
from django_sitemaps_plus.exceptions import (
    BatchRejected,
    ConfigurationError,
    EngineRefused,
    RetryLater,
)
from django_sitemaps_plus.notifications import IndexNow
from django_sitemaps_plus.notifications.secrets import Secret
from tests.support.batches import SITE, make_batch

KEY = "0123456789abcdef0123456789abcdef"
URLS = ("https://shop.example/a", "https://shop.example/b?c=1&d=2")


class TestOptions:
    @pytest.mark.parametrize("key", ["a" * 8, "A-z-0-9-", "f" * 128, Secret(KEY)])
    def test_a_key_of_the_protocol_is_taken(self, key):
        """8 to 128 characters, as a string or a secret."""
        IndexNow(key=key)

    @pytest.mark.parametrize(
        "key", [None, "", "a" * 7, "a" * 129, "key_with_", KEY + "\n", 5]
    )
    def test_another_key_is_refused_without_being_shown(self, key):
        """With the class, the option and what to do."""
        with pytest.raises(ConfigurationError, match=r"'key' of IndexNow") as caught:
            IndexNow(key=key)
        assert "notify_search_engines --new-key" in str(caught.value)
        if key:
            assert str(key) not in str(caught.value)


class TestSend:
    def test_urls_are_posted_as_a_list_of_one_host(self, wire):
        """With the key, and where its file is."""
        IndexNow(key=KEY).send(make_batch(*URLS))
        assert wire.asked == [
            {
                "method": "POST",
                "url": "https://api.indexnow.org/indexnow",
                "json": {
                    "host": "shop.example",
                    "key": KEY,
                    "keyLocation": f"https://shop.example/{KEY}.txt",
                    "urlList": list(URLS),
                },
            }
        ]

    def test_the_key_file_lies_where_the_project_does(self, wire):
        """Below its path, and on its port."""
        site = Site("default", "https://shop.example:8443", "/caf\u00e9/")
        IndexNow(key=KEY).send(make_batch(site=site))
        assert wire.asked[0]["json"]["host"] == "shop.example:8443"
        location = wire.asked[0]["json"]["keyLocation"]
        assert location == f"https://shop.example:8443/caf%C3%A9/{KEY}.txt"

    @pytest.mark.parametrize(
        ("status", "error"),
        [
            (400, BatchRejected),
            (403, EngineRefused),
            (422, EngineRefused),
            (429, RetryLater),
            (500, RetryLater),
        ],
    )
    def test_another_status_is_an_error_that_names_it(self, wire, status, error):
        """Each is something else to do."""
        wire.will_answer(status, b"some words")
        with pytest.raises(error, match=rf"(?s){status}.*some words"):
            IndexNow(key=KEY).send(make_batch())

    @pytest.mark.parametrize(("given", "after"), [(None, 600), (7.0, 7.0)])
    def test_a_429_asks_for_ten_minutes_unless_it_says_more(self, wire, given, after):
        """It is documented to mean spam, not a moment's load."""
        wire.will_answer(429, retry_after=given)
        with pytest.raises(RetryLater) as caught:
            IndexNow(key=KEY).send(make_batch())
        assert caught.value.after == after


class TestFiles:
    def test_the_key_file_holds_the_key_alone(self):
        """Under the name that the protocol gives it."""
        assert IndexNow(key=KEY).files(SITE) == {f"{KEY}.txt": KEY}
