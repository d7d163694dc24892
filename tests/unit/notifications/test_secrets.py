"""Secrets show themselves to nobody by chance."""

from __future__ import annotations

import copy
import json
import pickle
import pprint

import pytest

from django_sitemaps_plus.exceptions import ConfigurationError
from django_sitemaps_plus.notifications.secrets import Secret, without_text

VALUE = 'c4nary/of a "key" & <more>'


class TestShowing:
    """What becomes of a secret that is written somewhere."""

    @pytest.mark.parametrize(
        "show",
        [
            repr,
            str,
            ascii,
            pprint.pformat,
            "{}".format,
            "{:>40}".format,
            "{!r}".format,
            lambda secret: "%s %r" % (secret, secret),  # noqa: UP031
            lambda secret: repr({"key": [secret]}),
        ],
    )
    def test_it_is_hidden_however_it_is_shown(self, show):
        """Each way to make text of it gives asterisks."""
        shown = show(Secret(VALUE))
        assert "***" in shown
        assert "c4nary" not in shown

    @pytest.mark.parametrize("dump", [pickle.dumps, json.dumps])
    def test_it_cannot_be_dumped(self, dump):
        """Nothing that writes objects down takes it, and the error does not tell."""
        with pytest.raises(TypeError) as caught:
            dump(Secret(VALUE))
        assert "c4nary" not in str(caught.value)

    @pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy])
    def test_a_copy_is_the_secret_itself(self, duplicate):
        """Settings that hold one can be copied, as tests and tools do."""
        secret = Secret(VALUE)
        assert duplicate(secret) is secret
        assert duplicate({"key": secret})["key"] is secret

    def test_it_is_revealed_when_asked(self):
        """Who asks for the value gets it."""
        assert Secret(VALUE).reveal() == VALUE


class TestComparing:
    """Secrets as values."""

    def test_two_of_one_value_are_equal(self):
        """They are compared by what they hide."""
        assert Secret(VALUE) == Secret(VALUE)
        assert Secret(VALUE) != Secret(VALUE + "x")

    def test_it_is_no_string(self):
        """Comparing with a guess does not tell whether it was right."""
        assert Secret(VALUE) != VALUE


class TestOf:
    """Secrets of options."""

    def test_a_secret_stays_what_it_is(self):
        """One is not wrapped again."""
        secret = Secret(VALUE)
        assert Secret.of(secret) is secret

    def test_a_string_is_wrapped(self):
        """A string becomes a secret."""
        assert Secret.of(VALUE).reveal() == VALUE

    @pytest.mark.parametrize("value", ["", "  \n", None, 7, b"key"])
    def test_anything_else_is_refused(self, value: object):
        """The error names the option."""
        with pytest.raises(ConfigurationError, match=r"^KEY is "):
            Secret.of(value, "KEY")


class TestHiding:
    """Texts of others in which a secret stands."""

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
        """A server that quotes the token of a header alone does not give it away."""
        hidden = Secret("OAuth c4nary").hide_in(b"unknown token c4nary")
        assert hidden == b"unknown token ***"

    def test_a_secret_that_is_no_utf_8_is_hidden_too(self):
        """As an environment variable may be."""
        secret = Secret("c4nary\udcff")
        assert secret.hide_in(b"c4nary\xed\xb3\xbf") == b"***"
        assert secret == Secret("c4nary\udcff")


def test_an_error_is_described_without_its_text():
    """Its kind, and the lines that lead to it."""
    try:
        raise ValueError(VALUE[:6])
    except ValueError as error:
        words = without_text(error)
    assert words.startswith("ValueError\n")
    assert "raise ValueError(VALUE[:6])" in words
    assert VALUE[:6] not in words
