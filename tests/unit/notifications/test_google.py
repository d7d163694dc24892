"""What Search Console is sent, and what its answers mean."""

from __future__ import annotations

import json
import sys
from datetime import timedelta

import pytest
from google.auth import jwt

from django_sitemaps_plus.exceptions import (
    BatchRejected,
    ConfigurationError,
    EngineRefused,
    RetryLater,
)
from django_sitemaps_plus.notifications import SearchConsole, Secret
from tests.support.batches import INDEX, SITE, make_batch
from tests.support.servers.service_account import EMAIL

TOKEN = "canary-of-google"
API = "https://www.googleapis.com/webmasters/v3/sites/"


@pytest.fixture
def key(account) -> Secret:
    """Give the text of a key file."""
    return Secret(json.dumps(account))


class TestOptions:
    def test_the_key_is_a_path_or_a_secret(self, account, key, tmp_path):
        path = tmp_path / "key.json"
        path.write_text(json.dumps(account))
        for given in (path, str(path), key):
            SearchConsole(service_account_key=given)

    @pytest.mark.parametrize(
        "given",
        [
            *(None, '{"canary": 1}', {"canary": 1}, b"canary", "canary" * 100),
            *({"private_key": None}, {"private_key": "canary"}, {"token_uri": ""}),
            *[Secret(text) for text in ("", "{canary", "[1]", "{}", "5")],
        ],
    )
    def test_anything_else_is_refused_without_being_shown(self, account, given):
        """Text must be a secret, or tools would show it; the key must be complete."""
        if isinstance(given, dict):
            changed = {k: v for k, v in {**account, **given}.items() if v}
            given = given if "canary" in given else Secret(json.dumps(changed))
        with pytest.raises(ConfigurationError, match="a Secret of its text") as caught:
            SearchConsole(service_account_key=given)
        assert "canary" not in str(caught.value)
        assert caught.value.__context__ is None

    def test_a_file_that_cannot_be_read_is_named_as_the_fault(self, tmp_path):
        with pytest.raises(ConfigurationError, match="No such file"):
            SearchConsole(service_account_key=tmp_path / "none.json")

    @pytest.mark.parametrize(
        "site_url",
        ["https://shop.example", "shop.example", "sc-domain:", "sc-domain:a b", 5],
    )
    def test_what_is_not_a_property_is_refused(self, key, site_url):
        """Most often the slash at the end is missing."""
        with pytest.raises(ConfigurationError, match="with the slash at its end"):
            SearchConsole(service_account_key=key, site_url=site_url)

    def test_without_google_auth_the_error_names_the_extra(self, key, monkeypatch):
        monkeypatch.setitem(sys.modules, "google.oauth2.service_account", None)
        with pytest.raises(ConfigurationError, match=r"sitemaps-plus\[google\]"):
            SearchConsole(service_account_key=key)

    def test_nothing_secret_shows(self, console, account):
        """Neither the key nor a token, in what is printed of the engine."""
        console.send(make_batch())
        shown = f"{console!r} {vars(console)}"
        assert TOKEN not in shown
        assert account["private_key"][100:140] not in shown


class TestToken:
    def test_it_is_requested_with_a_signed_claim(self, console, wire, account):
        """As service accounts do, for this scope and one hour."""
        console.send(make_batch())
        asked = wire.asked[0]
        assert (asked["method"], asked["url"]) == ("POST", account["token_uri"])
        form = dict(asked["form"])
        assert form["grant_type"] == "urn:ietf:params:oauth:grant-type:jwt-bearer"
        claims = jwt.decode(form["assertion"], verify=False)
        assert claims["iss"] == EMAIL
        assert claims["scope"] == "https://www.googleapis.com/auth/webmasters"
        assert claims["aud"] == "https://oauth2.googleapis.com/token"
        assert claims["exp"] - claims["iat"] == 3_600

    @pytest.mark.parametrize("is_withdrawn", [False, True])
    def test_it_is_reused_while_it_is_valid(self, console, wire, is_withdrawn):
        """Then another one is fetched; nobody has to act if it ends early."""
        console.send(make_batch())
        console.send(make_batch())
        assert [asked["method"] for asked in wire.asked] == ["POST", "PUT", "PUT"]
        if is_withdrawn:
            wire.will_answer(401)
            with pytest.raises(RetryLater, match="401"):
                console.send(make_batch())
        else:
            console._credentials.expiry -= timedelta(hours=1)
        wire.will_answer(200, {"access_token": "next"})
        console.send(make_batch())
        assert wire.asked[-1]["headers"] == {"Authorization": "Bearer next"}

    def test_a_fresh_one_that_is_refused_parks_the_engine(self, console, wire):
        wire.will_answer(401)
        with pytest.raises(EngineRefused, match="401"):
            console.send(make_batch())

    @pytest.mark.parametrize("status", [400, 401])
    def test_an_account_that_gets_none_parks_the_engine(self, key, wire, status):
        """The batch is not at fault, so it is not split."""
        wire.will_answer(status, {"error": "invalid_grant"})
        with pytest.raises(EngineRefused, match=rf"{EMAIL}.*{status}.*invalid_grant"):
            SearchConsole(service_account_key=key).send(make_batch())
        assert len(wire.asked) == 1  # google-auth would try again by itself

    @pytest.mark.parametrize(
        ("status", "body"),
        [
            *((503, b""), (200, b"<html>"), (200, []), (200, {}), (200, b"\xff")),
            (200, {"access_token": "x", "expires_in": "soon"}),
        ],
    )
    def test_a_passing_fault_of_google_is_retried_later(self, key, wire, status, body):
        """It says nothing about the account."""
        wire.will_answer(status, body)
        with pytest.raises(RetryLater):
            SearchConsole(service_account_key=key).send(make_batch())
        assert len(wire.asked) == 1


class TestSend:
    @pytest.mark.parametrize(
        ("site_url", "segment"),
        [
            (None, "https%3A%2F%2Fshop.example%2F"),
            ("sc-domain:shop.example", "sc-domain%3Ashop.example"),
        ],
    )
    def test_an_index_is_put_below_its_property(self, key, wire, site_url, segment):
        """Each is one segment of the path, and there is no body."""
        wire.will_answer(200, {"access_token": TOKEN})
        engine = SearchConsole(service_account_key=key, site_url=site_url)
        engine.send(make_batch())
        assert wire.asked[1:] == [
            {
                "method": "PUT",
                "url": f"{API}{segment}/sitemaps/"
                "https%3A%2F%2Fshop.example%2Fsitemap.xml",
                "headers": {"Authorization": f"Bearer {TOKEN}"},
            }
        ]

    @pytest.mark.parametrize(
        ("status", "body", "error"),
        [
            (400, b"", BatchRejected),
            (403, {"error": {"errors": [{"reason": "forbidden"}]}}, EngineRefused),
            (403, {"error": {"errors": [{"reason": "quotaExceeded"}]}}, RetryLater),
            (403, {"error": {"errors": [{"reason": "rateLimitExceeded"}]}}, RetryLater),
            (403, {"error": {"errors": [5]}}, EngineRefused),
            (403, b"<html>", EngineRefused),
            (503, b"", RetryLater),
        ],
    )
    def test_an_error_names_its_status(self, console, wire, status, body, error):
        """A 403 may be about rights, or about too many requests."""
        wire.will_answer(status, body)
        with pytest.raises(error, match=str(status)):
            console.send(make_batch())


class TestReadBack:
    def test_it_returns_googles_own_numbers(self, console, wire):
        """They come as strings; zeros it leaves out."""
        wire.will_answer(
            200,
            {
                "path": INDEX,
                "lastSubmitted": "2026-11-20T10:00:00.000Z",
                "lastDownloaded": "2026-11-20T11:00:00.000Z",
                "isPending": False,
                "errors": "1",
                "contents": [
                    {"type": "web", "submitted": "120", "indexed": "0"},
                    {"type": "image"},
                ],
            },
        )
        assert console.read_back(SITE, INDEX) == {
            "errors": 1,
            "warnings": 0,
            "isPending": False,
            "lastSubmitted": "2026-11-20T10:00:00.000Z",
            "lastDownloaded": "2026-11-20T11:00:00.000Z",
            "submitted": {"web": 120, "image": 0},
        }
        assert wire.asked[1]["method"] == "GET"

    @pytest.mark.parametrize(("status", "body"), [(404, b""), (200, b"<html>")])
    def test_it_is_none_where_google_knows_nothing(self, console, wire, status, body):
        wire.will_answer(status, body)
        assert console.read_back(SITE, INDEX) is None
