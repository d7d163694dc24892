"""What is asked of Search Console, and what its answers mean."""

from __future__ import annotations

import json
import sys
from datetime import timedelta

import pytest

from django_sitemaps_plus.exceptions import (
    BatchRejected,
    ConfigurationError,
    EngineRefused,
    RetryLater,
)
from django_sitemaps_plus.notifications import SearchConsole, Takes
from django_sitemaps_plus.notifications.secrets import Secret
from tests.support.batches import INDEX, SITE, make_batch

TOKEN = "canary-of-google"
API = "https://www.googleapis.com/webmasters/v3/sites/"


class TestOptions:
    def test_credentials_may_be_a_path_a_text_a_dict_or_a_secret(
        self, account, tmp_path
    ):
        """All say the same."""
        path = tmp_path / "key.json"
        path.write_text(json.dumps(account))
        text = json.dumps(account)
        for given in (path, str(path), text, f"\n {text}", account, Secret.of(text)):
            SearchConsole(credentials=given)

    @pytest.mark.parametrize(
        "change",
        [
            {"private_key": None},
            {"private_key": "canary"},
            {"private_key": 5},
            {"client_email": None},
            {"client_email": 5},
        ],
    )
    def test_an_incomplete_key_file_is_refused_without_being_shown(
        self, account, change
    ):
        """Neither in the message nor in what led to it."""
        broken = {**account, **change}
        with pytest.raises(
            ConfigurationError, match="'credentials' of Search"
        ) as caught:
            SearchConsole(credentials={k: v for k, v in broken.items() if v})
        assert "canary" not in str(caught.value)
        assert caught.value.__context__ is None

    @pytest.mark.parametrize(
        "given",
        [None, "", "{", "{canary", "[1]", 5, b"canary", "canary" * 100, "{}", {}],
    )
    def test_what_is_no_key_file_is_refused_without_being_shown(self, given):
        """It may be a key that was pasted in the wrong place."""
        with pytest.raises(
            ConfigurationError, match="'credentials' of Search"
        ) as caught:
            SearchConsole(credentials=given)
        assert "canary" not in str(caught.value)
        assert caught.value.__context__ is None

    def test_a_file_that_is_not_there_says_so(self, tmp_path):
        """So that one does not look for a fault in the key."""
        with pytest.raises(ConfigurationError, match="No such file"):
            SearchConsole(credentials=tmp_path / "none.json")

    def test_a_file_without_json_is_refused(self, tmp_path):
        """As every other text is."""
        path = tmp_path / "key.json"
        path.write_bytes(b"\xff\x00")
        with pytest.raises(ConfigurationError, match="'credentials' of SearchConsole"):
            SearchConsole(credentials=path)

    @pytest.mark.parametrize(
        "site_url", ["https://shop.example/", "sc-domain:shop.example"]
    )
    def test_a_property_is_taken(self, account, site_url):
        """By its prefix, or a whole domain."""
        SearchConsole(credentials=account, site_url=site_url)

    @pytest.mark.parametrize(
        "site_url",
        ["https://shop.example", "shop.example", "sc-domain:", "sc-domain:a b", "", 5],
    )
    def test_what_is_no_property_is_refused(self, account, site_url):
        """Most often the slash at the end is missing."""
        with pytest.raises(ConfigurationError, match="with its slash at the end"):
            SearchConsole(credentials=account, site_url=site_url)

    def test_without_google_auth_the_error_names_the_extra(self, account, monkeypatch):
        """It is not needed for any other engine."""
        monkeypatch.setitem(sys.modules, "google.auth.crypt", None)
        with pytest.raises(ConfigurationError, match=r"django_sitemaps_plus\[google\]"):
            SearchConsole(credentials=account)

    def test_nothing_secret_shows(self, console, account):
        """Neither the key nor a token, in what is printed of the engine."""
        console.send(make_batch())
        shown = f"{console!r} {vars(console)} {vars(console._account)}"
        assert TOKEN not in shown
        assert account["private_key"][100:140] not in shown


class TestSend:
    def test_an_index_is_put_below_its_property(self, console, wire):
        """Both are one segment of the path each, and there is no body."""
        console.send(make_batch())
        assert wire.asked[1:] == [
            {
                "method": "PUT",
                "url": f"{API}https%3A%2F%2Fshop.example%2F/sitemaps/"
                "https%3A%2F%2Fshop.example%2Fsitemap.xml",
                "headers": {"Authorization": f"Bearer {TOKEN}"},
            }
        ]

    def test_the_property_may_be_a_domain(self, account, wire):
        """Its colon is encoded too."""
        wire.will_answer(200, {"access_token": TOKEN})
        engine = SearchConsole(credentials=account, site_url="sc-domain:shop.example")
        engine.send(make_batch())
        assert f"{API}sc-domain%3Ashop.example/sitemaps/" in wire.asked[1]["url"]

    def test_it_is_told_once_and_at_most_daily(self):
        """Google fetches on its own what it knows."""
        assert (SearchConsole.takes, SearchConsole.max_batch) == (Takes.FEEDS, 1)
        assert SearchConsole.again_after == timedelta(days=1)
        assert not SearchConsole.follows_content

    @pytest.mark.parametrize(
        ("status", "body", "error"),
        [
            (400, b"", BatchRejected),
            (403, {"error": {"errors": [{"reason": "forbidden"}]}}, EngineRefused),
            (403, {"error": {"errors": [{"reason": "quotaExceeded"}]}}, RetryLater),
            (403, {"error": {"errors": [{"reason": "rateLimitExceeded"}]}}, RetryLater),
            (403, {"error": {"errors": [5]}}, EngineRefused),
            (403, {"error": "forbidden"}, EngineRefused),
            (403, b"<html>", EngineRefused),
            (404, b"", EngineRefused),
            (429, b"", RetryLater),
            (503, b"", RetryLater),
        ],
    )
    def test_an_error_names_its_status(self, console, wire, status, body, error):
        """A 403 may be about rights, or about too many requests."""
        wire.will_answer(status, body)
        with pytest.raises(error, match=str(status)):
            console.send(make_batch())

    def test_token_and_claim_are_sent_as_secrets(self, console, wire):
        """So that neither a log nor an answer that repeats them shows them."""
        console.send(make_batch())
        assertion = dict(wire.asked[0]["form"])["assertion"]
        for secret in (TOKEN, assertion):
            assert secret in str(wire.asked)
            assert secret not in wire.shown


class TestReadBack:
    def test_it_returns_googles_own_numbers(self, console, wire):
        """They come as strings."""
        wire.will_answer(
            200,
            {
                "path": INDEX,
                "lastSubmitted": "2026-11-20T10:00:00.000Z",
                "lastDownloaded": "2026-11-20T11:00:00.000Z",
                "isPending": False,
                "isSitemapsIndex": True,
                "warnings": "2",
                "errors": "1",
                "contents": [{"type": "web", "submitted": "120", "indexed": "0"}],
            },
        )
        assert console.read_back(SITE, INDEX) == {
            "errors": 1,
            "warnings": 2,
            "isPending": False,
            "lastSubmitted": "2026-11-20T10:00:00.000Z",
            "lastDownloaded": "2026-11-20T11:00:00.000Z",
            "submitted": {"web": 120},
        }
        assert wire.asked[1]["method"] == "GET"

    def test_what_is_missing_or_odd_is_left_out(self, console, wire):
        """Nothing that it says is trusted."""
        odd = {"errors": "-1", "lastDownloaded": "x" * 999, "contents": [5, {}]}
        wire.will_answer(200, odd)
        assert console.read_back(SITE, INDEX) == {
            "errors": None,
            "warnings": None,
            "isPending": False,
            "lastDownloaded": "x" * 64,
            "submitted": {},
        }

    @pytest.mark.parametrize(("status", "body"), [(404, b""), (200, b"<html>")])
    def test_it_is_none_where_google_knows_nothing(self, console, wire, status, body):
        """As before the index was submitted."""
        wire.will_answer(status, body)
        assert console.read_back(SITE, INDEX) is None

    def test_an_error_is_raised(self, console, wire):
        """As when submitting."""
        wire.will_answer(503)
        with pytest.raises(RetryLater):
            console.read_back(SITE, INDEX)
