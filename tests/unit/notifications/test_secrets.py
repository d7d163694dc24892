"""Secrets do not show by accident."""

from __future__ import annotations

import copy
import json
import pickle
import pprint

import pytest

from django_sitemaps_plus.notifications.secrets import Secret, without_text

VALUE = 'c4nary/of a "key" & <more>'


class TestShowing:
    """What a secret becomes where it is written."""

    @pytest.mark.parametrize(
        "show",
        [
            repr,
            str,
            pprint.pformat,
            "{}".format,
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
        """The error does not show it either."""
        with pytest.raises(TypeError) as caught:
            dump(Secret(VALUE))
        assert "c4nary" not in str(caught.value)

    @pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy])
    def test_a_copy_is_the_secret_itself(self, duplicate):
        """Settings that hold one can be copied."""
        secret = Secret(VALUE)
        assert duplicate(secret) is secret
        assert duplicate({"key": secret})["key"] is secret

    def test_it_is_revealed_when_asked(self):
        assert Secret(VALUE).reveal() == VALUE

    def test_only_a_string_can_be_one(self):
        with pytest.raises(TypeError, match="not NoneType"):
            Secret(None)


class TestHiding:
    """Texts of others that quote a secret."""

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
        """As it is, or as URLs, forms, JSON and HTML have it."""
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
