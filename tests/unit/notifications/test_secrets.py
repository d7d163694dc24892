"""T19 of HTTP: secrets do not show by accident, and get to their server alone."""

from __future__ import annotations

import copy
import http.client
import json
import logging
import pickle
import pprint
import re
import traceback
from collections.abc import Callable

import pytest

from django_sitemaps_plus.exceptions import EngineError
from django_sitemaps_plus.notifications.http import Answer, accepted, client, request
from django_sitemaps_plus.notifications.secrets import Secret, without_text
from tests.support.leaks import everything, everything_logged
from tests.support.servers.odd_http import (
    Reply,
    answer,
    echoes,
    resets,
    says,
    start_odd,
    stays_silent,
)
from tests.support.servers.programs import reserve_port

VALUE = 'c4nary/of a "key" & <more>'


class TestShowing:
    @pytest.mark.parametrize(
        "show",
        [
            *(repr, str, pprint.pformat, "{}".format),
            lambda secret: "%s %r" % (secret, secret),  # noqa: UP031
            lambda secret: repr({"key": [secret]}),
        ],
    )
    def test_it_is_hidden_however_it_is_shown(self, show):
        shown = show(Secret(VALUE))
        assert "***" in shown
        assert "c4nary" not in shown

    @pytest.mark.parametrize("dump", [pickle.dumps, json.dumps])
    def test_it_cannot_be_dumped(self, dump):
        with pytest.raises(TypeError) as caught:
            dump(Secret(VALUE))
        assert "c4nary" not in str(caught.value)

    @pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy])
    def test_a_copy_is_the_secret_itself(self, duplicate):
        """Settings that hold one can be copied."""
        secret = Secret(VALUE)
        assert duplicate(secret) is secret
        assert duplicate({"key": secret})["key"] is secret

    def test_only_a_string_can_be_one(self):
        with pytest.raises(TypeError, match="not NoneType"):
            Secret(None)


class TestHiding:
    @pytest.mark.parametrize(
        "text",
        [
            VALUE,
            "c4nary%2Fof%20a%20%22key%22%20%26%20%3Cmore%3E",
            "c4nary/of%20a%20%22key%22%20%26%20%3Cmore%3E",
            "c4nary%2Fof+a+%22key%22+%26+%3Cmore%3E",
            'c4nary/of a \\"key\\" & <more>',
            "c4nary/of a &quot;key&quot; &amp; &lt;more&gt;",
        ],
    )
    def test_it_is_hidden_in_any_form(self, text: str):
        hidden = Secret(VALUE).hide_in(f"no: {text}!".encode())
        assert hidden == b"no: ***!"

    def test_credentials_are_hidden_without_their_scheme(self):
        """A server may quote the token of a header alone."""
        hidden = Secret("OAuth c4nary").hide_in(b"unknown token c4nary")
        assert hidden == b"unknown token ***"

    def test_a_secret_that_is_not_utf_8_is_hidden_too(self):
        """As an environment variable may be."""
        assert Secret("c4nary\udcff").hide_in(b"c4nary\xed\xb3\xbf") == b"***"


def test_an_error_is_described_without_its_text():
    try:
        raise ValueError(VALUE[:6])
    except ValueError as error:
        words = without_text(error)
    assert words.startswith("ValueError\n")
    assert "raise ValueError(VALUE[:6])" in words
    assert VALUE[:6] not in words


# In parts, since pages of errors quote the lines of programs.
CANARY = "".join(["c4n", "ary/", "7 ", "&ü"])
TOKEN = "".join(["t0k", "en"])
TRACES = ("".join(["c4n", "ary"]), TOKEN)

#: What servers answer, or fail to.
REPLIES: dict[str, Reply] = {
    "yes": says(answer()),
    "yes, and what it heard": echoes(b"HTTP/1.1 200 OK\r\n\r\n"),
    "no, and what it heard": echoes(b"HTTP/1.1 403 Forbidden\r\n\r\n"),
    "bad, and what it heard": echoes(b"HTTP/1.1 400 Bad\r\n\r\n"),
    "what it heard": echoes(),
    "what it heard as a header of its own": echoes(b"HTTP/1.1 200 OK\r\n"),
    "a header that cannot be read": says(b"HTTP/1.1 200 OK\r\nno header\r\n\r\nx"),
    "a redirect to what it heard": echoes(
        b"HTTP/1.1 302 Found\r\nLocation: https://other.example/"
    ),
    "a redirect to a host of that name": says(
        answer("302 Found", b"", f"Location: https://{TOKEN}.example/")
    ),
    "half of what it heard": echoes(b"HTTP/1.1 200 OK\r\nContent-Length: 9999\r\n\r\n"),
    "a bad chunk": echoes(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"),
    "a reset": resets,
    "silence": stays_silent,
}


def tell(url: str, **more: object) -> Answer:
    """Send the canary in each way that there is."""
    headers = {"Authorization": Secret(f"OAuth {TOKEN}")}
    query = {"key": Secret(CANARY)}
    json = {"key": [Secret(CANARY)], **more}
    return accepted(request("POST", url, query=query, headers=headers, json=json))


def tell_form(url: str) -> Answer:
    pairs = [("key", Secret(CANARY)), ("token", Secret(TOKEN))]
    return accepted(request("POST", url, form=pairs))


@pytest.fixture
def leaks(caplog, capsys, monkeypatch, settings) -> Callable[..., list[str]]:
    settings.DEBUG = True
    caplog.set_level(logging.DEBUG)
    monkeypatch.setattr(http.client.HTTPConnection, "debuglevel", 1)
    monkeypatch.setattr(client, "MAX_SECONDS", 0.5)

    def leaks(call: Callable[[], object]) -> list[str]:
        texts = []
        try:
            returned = call()
        except EngineError as error:
            texts += everything(error)
        else:
            texts += [repr(returned), repr(getattr(returned, "body", ""))]
        texts += everything_logged(caplog.records)
        texts += capsys.readouterr()
        assert sum(map(len, texts)) > 0
        found = [re.search(f".*({'|'.join(TRACES)}).*", text) for text in texts]
        return [match[0][:300] for match in found if match]

    return leaks


@pytest.mark.parametrize("call", [tell, tell_form])
@pytest.mark.parametrize("name", REPLIES)
def test_nothing_leaks_whatever_a_server_answers(name: str, call, leaks):
    with start_odd(REPLIES[name]) as server:
        assert leaks(lambda: call(server.url)) == []
    assert server.requests
    assert all([TRACES[0].encode() in heard for heard in server.requests])


def test_nothing_leaks_where_nobody_is_asked(leaks):
    """A URL that may not be asked, a closed port, no TLS, what cannot be sent."""
    with reserve_port() as reserved, start_odd(says(answer())) as server:
        closed = reserved.getsockname()[1]
        for url in (
            f"http://127.0.0.1:{closed}/",
            f"https://localhost:{server.port}/",
            "https://2130706433/",
            "http://example.com/",
            "nonsense",
        ):
            assert leaks(lambda url=url: tell(url)) == []
        assert leaks(lambda: tell(server.url, odd=object())) == []
        broken = {"X-Key": Secret(CANARY)}
        assert leaks(lambda: request("GET", server.url, headers=broken)) == []
        assert server.requests == []


def test_nothing_leaks_from_an_unexpected_error(leaks, monkeypatch):
    """Its text may quote what could not be sent."""

    def fail(connection: object, method: str, target: str, **options: object) -> None:
        raise ValueError(f"{target} {options}")

    monkeypatch.setattr("http.client.HTTPConnection.request", fail)
    with start_odd(says(answer())) as server:
        assert leaks(lambda: tell(server.url)) == []


def test_the_detector_finds_a_leak(leaks):

    def call() -> None:
        value = Secret(CANARY).reveal()
        raise EngineError(f"It failed{value[:0]}")

    assert leaks(call)


def test_an_error_can_be_raised_elsewhere(leaks):
    """Nothing hangs on it but what this thread has."""
    with reserve_port() as reserved, pytest.raises(EngineError) as caught:
        tell(f"http://127.0.0.1:{reserved.getsockname()[1]}/")
    assert caught.value.__context__ is None
    assert caught.value.__cause__ is None
    names = [f.name for f in traceback.extract_tb(caught.value.__traceback__)]
    assert names[1:] == ["tell", "request"]
