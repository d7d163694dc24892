"""Access tokens of a service account."""

from __future__ import annotations

import pytest
from google.auth import jwt

from django_sitemaps_plus.exceptions import EngineRefused, RetryLater
from django_sitemaps_plus.notifications import SearchConsole
from django_sitemaps_plus.notifications.engines import service_account
from tests.support.batches import make_batch
from tests.support.servers.service_account import EMAIL

TOKEN = "canary-of-google"


class TestToken:
    def test_it_is_asked_for_with_a_signed_claim(self, console, wire, account):
        """As service accounts do, for this scope and one hour."""
        console.send(make_batch())
        asked = wire.asked[0]
        assert (asked["method"], asked["url"]) == ("POST", account["token_uri"])
        form = dict(asked["form"])
        assert form["grant_type"] == "urn:ietf:params:oauth:grant-type:jwt-bearer"
        claims = jwt.decode(form["assertion"], verify=False)
        assert claims["iss"] == EMAIL
        assert claims["scope"] == "https://www.googleapis.com/auth/webmasters"
        assert claims["aud"] == account["token_uri"]
        assert claims["exp"] - claims["iat"] == 3_600

    def test_it_is_used_again_until_five_minutes_before_its_end(
        self, console, wire, monkeypatch
    ):
        """Then another one is fetched."""
        now = 1_000.0  # whole, so that sums are exact
        monkeypatch.setattr(service_account.time, "monotonic", lambda: now)
        console.send(make_batch())
        now += 3_298
        console.send(make_batch())
        assert [asked["method"] for asked in wire.asked] == ["POST", "PUT", "PUT"]
        now += 1
        wire.will_answer(200, {"access_token": "next"})
        console.send(make_batch())
        assert wire.asked[-1]["headers"] == {"Authorization": "Bearer next"}

    def test_one_that_was_withdrawn_is_fetched_anew(self, console, wire):
        """Nobody has to act, as long as the account is good."""
        console.send(make_batch())
        wire.will_answer(401)
        with pytest.raises(RetryLater, match="401"):
            console.send(make_batch())
        wire.will_answer(200, {"access_token": "next"})
        console.send(make_batch())
        assert wire.asked[-1]["headers"] == {"Authorization": "Bearer next"}

    def test_a_fresh_one_that_is_not_taken_parks_the_engine(self, console, wire):
        """To fetch another one would not help."""
        wire.will_answer(401)
        with pytest.raises(EngineRefused, match="401"):
            console.send(make_batch())

    @pytest.mark.parametrize("status", [400, 401, 403, 404, 413])
    def test_an_account_that_gets_none_parks_the_engine(self, account, wire, status):
        """The batch is not at fault, so it is not split."""
        wire.will_answer(status, {"error": "invalid_grant"})
        with pytest.raises(EngineRefused, match=rf"{EMAIL}.*{status}.*invalid_grant"):
            SearchConsole(credentials=account).send(make_batch())

    @pytest.mark.parametrize(
        ("status", "body"),
        [
            (503, b""),
            (429, b""),
            (200, b"<html>"),
            (200, []),
            (200, {}),
            (200, {"access_token": ""}),
            (200, {"access_token": 5}),
        ],
    )
    def test_google_may_have_none_for_now(self, account, wire, status, body):
        """Then it is asked again later."""
        wire.will_answer(status, body)
        with pytest.raises(RetryLater):
            SearchConsole(credentials=account).send(make_batch())

    def test_an_odd_lifetime_is_an_hour(self, account, wire):
        """Google's tokens hold that long."""
        wire.will_answer(200, {"access_token": TOKEN, "expires_in": "soon"})
        engine = SearchConsole(credentials=account)
        engine.send(make_batch())
        engine.send(make_batch())
        assert len(wire.asked) == 3
