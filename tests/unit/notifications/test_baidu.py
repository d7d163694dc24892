"""What is asked of Baidu, and what its answers mean."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from django_sitemaps_plus.exceptions import (
    BatchRejected,
    ConfigurationError,
    EngineRefused,
    RetryLater,
)
from django_sitemaps_plus.notifications import Baidu, Takes
from django_sitemaps_plus.notifications.engines import baidu
from tests.support.batches import make_batch

TOKEN = "canary-of-baidu"
URLS = ("https://shop.example/a", "https://shop.example/b")


class TestOptions:
    @pytest.mark.parametrize(
        ("option", "value"),
        [
            *[("token", v) for v in (None, f"{TOKEN}\n", 5)],
            *[("site", v) for v in ("", " ", 5)],
            *[("endpoint", v) for v in (None, "baidu", "https://a.example/?site=x")],
        ],
    )
    def test_an_option_that_cannot_work_is_refused_without_being_shown(
        self, option, value
    ):
        """With the class and the option."""
        with pytest.raises(ConfigurationError, match=f"'{option}' of Baidu") as caught:
            Baidu(**{"token": TOKEN, option: value})
        assert TOKEN not in str(caught.value)


class TestSend:
    def test_urls_are_pushed_one_a_line(self, wire):
        """Site and token are in the query, as the interface has it."""
        assert (Baidu.takes, Baidu.max_batch) == (Takes.URLS, 2_000)
        wire.will_answer(200, {"remain": 8, "success": 2})
        Baidu(token=TOKEN).send(make_batch(*URLS))
        assert wire.asked == [
            {
                "method": "POST",
                "url": "https://data.zz.baidu.com/urls",
                "text": "https://shop.example/a\nhttps://shop.example/b",
                "query": {"site": "shop.example", "token": TOKEN},
            }
        ]

    def test_urls_that_were_not_taken_reject_the_batch(self, wire):
        """It says which ones; all others it has accepted."""
        bad = [f"https://shop.example/{name}" for name in "xyz"]
        said = {"success": 2, "not_valid": bad[:2], "not_same_site": bad[2:]}
        wire.will_answer(200, {"remain": 7, **said})
        with pytest.raises(BatchRejected, match="example/z") as caught:
            Baidu(token=TOKEN).send(make_batch(*URLS, *bad))
        assert caught.value.targets == set(bad)

    @pytest.mark.parametrize(
        "said",
        [
            {"success": 1, "not_valid": ["https://shop.example/x"]},
            {"success": 1, "not_valid": [URLS[0], "/b"]},
            {"success": 1, "not_valid": [[URLS[0]]]},
            {"success": 2, "not_same_site": [URLS[0]]},
            {"success": 2, "not_valid": 5},
            {"not_valid": [URLS[0]]},
        ],
    )
    def test_which_were_not_taken_is_not_known_where_it_does_not_add_up(
        self, wire, said
    ):
        """Names that it was not told, or another number of those that it has taken."""
        wire.will_answer(200, said)
        with pytest.raises(BatchRejected) as caught:
            Baidu(token=TOKEN).send(make_batch(*URLS))
        assert not caught.value.targets

    @pytest.mark.parametrize("said", [b"<html>", [], {"remain": 1}])
    def test_an_answer_that_does_not_say_how_many_is_none(self, wire, said):
        """Something else has answered, or it is broken."""
        wire.will_answer(200, said)
        with pytest.raises(RetryLater, match="how many"):
            Baidu(token=TOKEN).send(make_batch(*URLS))

    @pytest.mark.parametrize(
        ("status", "message", "error"),
        [
            (400, "site error", EngineRefused),
            (400, "empty content", BatchRejected),
            (401, "token is not valid", EngineRefused),
            (500, "internal error, please try later", RetryLater),
        ],
    )
    def test_an_error_is_told_by_its_status_and_words(
        self, wire, status, message, error
    ):
        """Its words are part of the message."""
        wire.will_answer(status, {"error": status, "message": message})
        with pytest.raises(error, match=message):
            Baidu(token=TOKEN).send(make_batch(*URLS))

    @pytest.mark.parametrize(
        ("now", "hours"),
        [
            (datetime(2026, 11, 20, 15, 0, tzinfo=UTC), 1),  # 23:00 in China
            (datetime(2026, 11, 20, 16, 0, tzinfo=UTC), 24),  # midnight there
        ],
    )
    def test_over_quota_waits_for_tomorrow_in_china(
        self, wire, monkeypatch, now, hours
    ):
        """The quota is one of days."""
        monkeypatch.setattr(baidu, "now", lambda: now)
        wire.will_answer(400, {"error": 400, "message": "over quota"})
        with pytest.raises(RetryLater, match="over quota") as caught:
            Baidu(token=TOKEN).send(make_batch(*URLS))
        assert caught.value.after == hours * 3_600
