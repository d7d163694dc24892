"""What is asked of Yandex Webmaster, and what its answers mean."""

from __future__ import annotations

from typing import Any

import pytest

from django_sitemaps_plus.exceptions import (
    BatchRejected,
    ConfigurationError,
    EngineRefused,
    RetryLater,
)
from django_sitemaps_plus.notifications import Takes, YandexWebmaster
from tests.support.batches import INDEX, make_batch

TOKEN = "canary-of-yandex/+="
OPTIONS: dict[str, Any] = {
    "user_id": 42,
    "host_id": "https:shop.example:443",
    "token": TOKEN,
}


class TestOptions:
    @pytest.mark.parametrize(
        ("option", "value"),
        [
            *[("user_id", v) for v in (None, "me", -1, "\u0661")],
            *[("host_id", v) for v in (None, "shop.example")],
            *[("token", v) for v in (None, f"{TOKEN}\n")],
            *[("endpoint", v) for v in ("api", "https://a.example?b=c")],
        ],
    )
    def test_an_option_that_cannot_work_is_refused_without_being_shown(
        self, option, value
    ):
        """With the class and the option."""
        with pytest.raises(ConfigurationError, match=f"'{option}' of Yandex") as caught:
            YandexWebmaster(**{**OPTIONS, option: value})
        assert TOKEN not in str(caught.value)


class TestSend:
    def test_an_index_is_added_to_the_host(self, wire):
        """With the token in a header."""
        assert (YandexWebmaster.takes, YandexWebmaster.max_batch) == (Takes.FEEDS, 1)
        YandexWebmaster(**OPTIONS).send(make_batch())
        assert wire.asked == [
            {
                "method": "POST",
                "url": "https://api.webmaster.yandex.net/v4/user/42/hosts/"
                "https:shop.example:443/user-added-sitemaps",
                "json": {"url": INDEX},
                "headers": {"Authorization": f"OAuth {TOKEN}"},
            }
        ]

    def test_a_host_cannot_leave_its_place_in_the_path(self, wire):
        """Slashes are encoded."""
        YandexWebmaster(**{**OPTIONS, "host_id": "https:../a:443"}).send(make_batch())
        assert "/hosts/https:..%2Fa:443/user-added" in wire.asked[0]["url"]

    @pytest.mark.parametrize("status", [201, 200, 409])
    def test_what_was_added_or_is_there_already_is_fine(self, wire, status):
        """409 says the latter."""
        wire.will_answer(status)
        YandexWebmaster(**OPTIONS).send(make_batch())

    @pytest.mark.parametrize(
        ("status", "error"),
        [
            (400, BatchRejected),
            (403, EngineRefused),
            (503, RetryLater),
        ],
    )
    def test_an_error_has_status_and_words(self, wire, status, error):
        """Its code is among them."""
        wire.will_answer(status, b"INVALID_URL")
        with pytest.raises(error, match=f"{status}.*INVALID_URL"):
            YandexWebmaster(**OPTIONS).send(make_batch())
