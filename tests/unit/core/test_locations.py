"""URLs as sitemaps list them."""

import re
from urllib.parse import unquote_to_bytes, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from django_sitemaps_plus.core.limits import MAX_URL_LENGTH
from django_sitemaps_plus.core.locations import absolute_url, encode_url

ORIGIN = "https://shop.example"

# What may stand in a URL, by the grammar of RFC 3986; brackets only around an IPv6
# address, the number sign only once.
URL = re.compile(
    r"https?://(?:[a-z0-9._-]+|\[[0-9a-f:.]+\])(?::[0-9]{1,5})?"
    r"(?:[A-Za-z0-9\-._~:/?@!$&'()*+,;=]|%[0-9A-Fa-f]{2})*"
    r"(?:#(?:[A-Za-z0-9\-._~:/?@!$&'()*+,;=]|%[0-9A-Fa-f]{2})*)?"
)

HOSTILE = st.text(st.characters(exclude_categories=()), max_size=40) | st.text(
    "%#?/\\[]{}|^`\"'<>&;= \t\r\n\x00\u00e9\u202e\U0001f600a2F", max_size=40
)


def is_utf_8(text: str) -> bool:
    return text == text.encode("utf-8", "ignore").decode()


class TestEncodeUrl:
    @pytest.mark.parametrize(
        "url",
        [
            *("https://shop.example", "https://shop.example:8443/a/b/"),
            *("https://shop.example/a?b=c&d=e;f", "https://shop.example/caf%C3%A9/%7e"),
            *("https://shop.example/a'b(c)*d!$,+=~@:", "https://[2001:db8::1]:8080/a"),
            "https://shop.example/#?/",
        ],
    )
    def test_a_url_that_is_in_order_stays_as_it_is(self, url):
        assert encode_url(url) == url

    @pytest.mark.parametrize(
        ("path", "encoded"),
        [
            ("/caf\u00e9/", "/caf%C3%A9/"),
            ("/a b", "/a%20b"),
            ('/"<>\\^`{|}', "/%22%3C%3E%5C%5E%60%7B%7C%7D"),
            ("/[x]", "/%5Bx%5D"),
            ("/a\r\nb\x00", "/a%0D%0Ab%00"),
            ("?q=\u00fc&r=[1]", "?q=%C3%BC&r=%5B1%5D"),
            ("/#\u00fc", "/#%C3%BC"),
            ("/#a#b", "/#a%23b"),
            ("/100%", "/100%25"),
            ("/%zz%4", "/%25zz%254"),
            ("/%25", "/%25"),
            ("/%c3%a9\u00e9", "/%c3%a9%C3%A9"),
            ("/%\uff14\uff11", "/%25%EF%BC%94%EF%BC%91"),
        ],
    )
    def test_what_a_url_cannot_hold_is_percent_encoded_utf_8(self, path, encoded):
        assert encode_url(ORIGIN + path) == ORIGIN + encoded

    @pytest.mark.parametrize(
        ("url", "encoded"),
        [
            ("https://b\u00fccher.example/", "https://xn--bcher-kva.example/"),
            ("https://stra\u00dfe.example/", "https://strasse.example/"),
            ("HTTPS://Shop.EXAMPLE/A", "https://shop.example/A"),
            ("http://[2001:DB8::1]/\u00e9", "http://[2001:db8::1]/%C3%A9"),
        ],
    )
    def test_scheme_and_host_are_lower_case_ascii(self, url, encoded):
        assert encode_url(url) == encoded

    @pytest.mark.parametrize(
        "url",
        [
            *("", "/path", "//shop.example/", "shop.example", " https://shop.example/"),
            *("ftp://shop.example/", "javascript:alert(1)//https://x"),
            "http\u017f://shop.example/",
        ],
    )
    def test_what_is_not_absolute_http_is_refused(self, url):
        with pytest.raises(ValueError, match="is not an absolute http or https URL"):
            encode_url(url)

    @pytest.mark.parametrize(
        ("rest", "message"),
        [
            *(("", "is not a host"), (":80", "is not a host")),
            *(("user@shop.example", "is not a host"), ("a.example:", "is not a host")),
            *(
                ("a.example:123456", "is not a host"),
                ("a.example:\u0661", "not a host"),
            ),
            *(("shop example", "is not a host"), ("shop.example\\", "is not a host")),
            *(("[2001:db8::1", "is not a host"), ("a\uff0fb.example", "is not a host")),
            *(("\u00fc" * 70 + ".example", "not a host"), ("\ud800.example", "host")),
            *(
                ("shop.example:65536", "above 65,535"),
                ("A.example:65536", "above 65,535"),
            ),
            *(("[::1]:65536", "above 65,535"), ("a.example/\ud800", "in UTF-8")),
            *(("a.example/?\udfff", "in UTF-8"), ("a.example/#\udc80", "in UTF-8")),
        ],
    )
    def test_what_cannot_be_fetched_is_refused(self, rest, message):
        """Credentials, no host or port, half a character; messages can be written."""
        for port in (0, 9_999, 10_000, 65_535):
            assert encode_url(f"http://A.xy:{port}/") == f"http://a.xy:{port}/"
        with pytest.raises(ValueError, match=message) as caught:
            encode_url(f"https://{rest}")
        str(caught.value).encode()

    def test_what_is_no_text_is_a_type_error(self):
        for value in (None, b"https://shop.example/"):
            with pytest.raises(TypeError, match="is not a URL"):
                encode_url(value)
            with pytest.raises(TypeError, match="is not a location"):
                absolute_url(value, ORIGIN)

    @pytest.mark.parametrize(("character", "length"), [("a", 1), ("\u00e9", 6)])
    def test_2_047_characters_are_the_most(self, character, length):
        """The protocol says less than 2,048; they are counted after encoding."""
        room, rest = divmod(MAX_URL_LENGTH - len(ORIGIN) - 1, length)
        longest = f"{ORIGIN}/{'a' * rest}{character * room}"
        assert len(encode_url(longest)) == MAX_URL_LENGTH
        with pytest.raises(ValueError, match=r"2,048 characters: at most 2,047"):
            encode_url(longest + "a")

    @given(HOSTILE)
    def test_any_path_becomes_a_url_of_the_same_bytes_or_is_refused(self, text):
        """The result is a URL by its grammar, and encoding it again changes nothing."""
        text = text.replace("#", "")
        if not is_utf_8(text):
            with pytest.raises(ValueError, match="UTF-8"):
                encode_url(f"{ORIGIN}/{text}")
            return
        encoded = encode_url(f"{ORIGIN}/{text}")
        assert URL.fullmatch(encoded)
        path = encoded.removeprefix(f"{ORIGIN}/")
        assert unquote_to_bytes(path) == unquote_to_bytes(text)
        assert encode_url(encoded) == encoded

    @given(st.text(max_size=20) | HOSTILE)
    def test_any_authority_becomes_a_host_or_is_refused(self, text):
        try:
            encoded = encode_url(f"https://{text}/x")
        except ValueError:
            return
        assert URL.fullmatch(encoded)
        assert urlsplit(encoded).username is None


class TestAbsoluteUrl:
    @pytest.mark.parametrize(
        ("location", "url"),
        [
            ("/caf\u00e9/", f"{ORIGIN}/caf%C3%A9/"),
            *((ORIGIN, ORIGIN), (f"{ORIGIN}?a", f"{ORIGIN}?a")),
            (f"{ORIGIN}#a", f"{ORIGIN}#a"),
            ("HTTPS://SHOP.example/a", f"{ORIGIN}/a"),
        ],
    )
    def test_a_path_or_a_url_of_ours_is_taken(self, location, url):
        assert absolute_url(location, ORIGIN) == url

    @pytest.mark.parametrize(
        "url",
        [
            *("https://other.example/", "http://shop.example/"),
            *("https://shop.example:8443/", "https://shop.example.evil.example/"),
        ],
    )
    def test_a_url_of_another_origin_is_refused(self, url):
        """A sitemap may list URLs of its own scheme, host and port."""
        assert absolute_url(url, None) == url
        with pytest.raises(ValueError, match=f"is not on {ORIGIN}"):
            absolute_url(url, ORIGIN)

    @pytest.mark.parametrize("location", ["", "a/b", "//shop.example/", "?a", "#a"])
    def test_what_is_neither_path_nor_url_is_refused(self, location):
        with pytest.raises(ValueError, match="URL, or a path that begins with a slash"):
            absolute_url(location, ORIGIN)

    def test_12_characters_are_the_least(self):
        """The protocol's schema says so of locations, and of nothing else."""
        assert absolute_url("/b", "http://a.xy") == "http://a.xy/b"
        for location, origin in (("/", "http://a.b"), ("http://a.xy", None)):
            with pytest.raises(ValueError, match="has at least 12"):
                absolute_url(location, origin)
        assert encode_url("http://a.b/") == "http://a.b/"
