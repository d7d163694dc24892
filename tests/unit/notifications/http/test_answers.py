"""Answers: what is kept of them, and what each status means."""

from __future__ import annotations

import time

import pytest
from django.utils.http import http_date

from django_sitemaps_plus.exceptions import BatchRejected, EngineRefused, RetryLater
from django_sitemaps_plus.notifications.http import Answer, accepted
from django_sitemaps_plus.notifications.http.answers import (
    MAX_RETRY_AFTER,
    parse_retry_after,
    redirect_host,
)


class TestAccepted:
    """What a status means."""

    @pytest.mark.parametrize("status", [200, 202, 299])
    def test_yes_is_returned(self, status: int):
        answer = Answer(status=status)
        assert accepted(answer) is answer

    @pytest.mark.parametrize("status", [102, 408, 425, 429, 500, 503, 999])
    def test_later_is_raised_with_its_time(self, status: int):
        with pytest.raises(RetryLater, match=f"{status}.*: busy") as caught:
            accepted(Answer(status=status, body=b"busy", retry_after=7.0))
        assert caught.value.after == 7.0

    @pytest.mark.parametrize("status", [401, 403, 404, 405, 410, 422])
    def test_no_needs_people(self, status: int):
        with pytest.raises(EngineRefused, match=f"{status}.*: no key"):
            accepted(Answer(status=status, body=b"no key"))

    @pytest.mark.parametrize("status", [300, 302, 308])
    def test_redirects_need_people(self, status: int):
        with pytest.raises(EngineRefused, match=f"{status}.*other.example"):
            accepted(Answer(status=status, redirect_host="other.example"))

    @pytest.mark.parametrize("status", [400, 409, 413])
    def test_the_rest_is_the_fault_of_the_batch(self, status: int):
        with pytest.raises(BatchRejected, match=str(status)):
            accepted(Answer(status=status))


class TestBody:
    """What engines say in words."""

    def test_text_is_one_short_printable_line(self):
        """Whatever a stranger sends can stand in a log, a row and a terminal."""
        body = b"no\r\n\x1b[31m \x00\xff " + "\u202eevil\u2028".encode() + b"x" * 10_000
        text = Answer(status=400, body=body).text
        assert text.startswith("no [31m \ufffd evil xxx")
        assert text.isprintable()
        assert len(text) == 300

    @pytest.mark.parametrize(
        "body",
        [b"", b"<html>", b"\xff\xfe", b"[" * 60_000, b"[1]"],
    )
    def test_what_is_no_json_is_nothing(self, body: bytes):
        """Whatever a stranger sends in place of JSON raises nothing."""
        assert Answer(status=200, body=body).json() == {}

    def test_a_body_is_not_in_the_repr(self):
        """A token may be in it."""
        assert "token" not in repr(Answer(status=200, body=b"token"))


class TestRetryAfter:
    """When an engine wants to be asked again."""

    @pytest.mark.parametrize(
        ("value", "expected"),
        [
            ("0", 0),
            ("120", 120),
            (" 7 ", 7),
            ("9" * 5_000, MAX_RETRY_AFTER),
            ("Sun, 06 Nov 1994 08:49:37 GMT", 0),
            ("Fri, 31 Dec 9999 23:59:59 GMT", MAX_RETRY_AFTER),
        ],
    )
    def test_seconds_and_dates_are_understood(self, value: str, expected: float):
        """They never lie in the past, or more than a day ahead."""
        assert parse_retry_after(value) == expected

    def test_a_date_soon_is_counted_from_now(self):
        seconds = parse_retry_after(http_date(time.time() + 3_600))
        assert seconds == pytest.approx(3_600, abs=60)

    @pytest.mark.parametrize("value", [None, "", "soon", "-1", "1.5", "٣", "Sun, 99"])
    def test_anything_else_says_nothing(self, value: str | None):
        assert parse_retry_after(value) is None


@pytest.mark.parametrize(
    ("location", "host"),
    [
        ("http://169.254.169.254/latest", "169.254.169.254"),
        ("https://user:c4nary@other.example/?key=c4nary", "other.example"),
        ("//other.example", "other.example"),
        ("/elsewhere", ""),
        ("https://[", ""),
        ("", ""),
    ],
)
def test_redirect_names_its_host_alone(location: str, host: str):
    """Neither credentials nor a query are kept."""
    assert redirect_host(location) == host
