"""One record a line, whatever is in it."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from django_sitemaps_plus.core.robots import (
    Group,
    agent,
    delay_text,
    extra_line,
    parse_robots,
    path_pattern,
    render_robots,
    sitemap_url,
)

from .hostile import PIECES

URL = "https://shop.example/sitemap.xml"

#: Words that would do harm on a line of their own, between all that may end one.
WORDS = st.lists(
    st.sampled_from(
        (*PIECES, "Disallow: /", "Sitemap: https://evil.example/", "User-agent: *")
    ),
    max_size=8,
).map("".join)

PATHS = WORDS.map(lambda text: f"/{text}")


def usable(clean, texts) -> list[str]:
    found = []
    for text in texts:
        try:
            found.append(clean(text))
        except ValueError:
            continue
    return found


@given(allow=st.lists(PATHS), disallow=st.lists(PATHS), extra=st.lists(WORDS))
def test_a_record_is_one_line_whatever_is_in_it(allow, disallow, extra):
    """As many lines as records, for every reader's idea of a line; in UTF-8."""
    group = Group(
        allow=usable(path_pattern, allow), disallow=usable(path_pattern, disallow)
    )
    extra = usable(extra_line, extra)
    content = render_robots([group], extra, [URL])
    lines = content.decode("utf-8").splitlines()
    rules = len(group.allow) + len(group.disallow) or 1
    assert len(lines) == 1 + rules + 1 + len(extra) + bool(extra) + 1
    assert lines == content.decode("utf-8").split("\n")[:-1]
    assert lines[0] == "User-agent: *"
    assert lines[-1] == f"Sitemap: {URL}"
    kinds = re.compile(r"(?:Allow|Disallow):(?: [/*][!-~]*)?")
    assert all(kinds.fullmatch(line) for line in lines[1 : rules + 1])
    assert not any("#" in line for line in lines[1 : rules + 1])


@given(url=WORDS.map(lambda text: f"https://shop.example/{text}"))
def test_a_sitemap_line_has_one_url_whatever_is_in_it(url):
    """A URL is encoded or refused; it never ends its line, nor begins a comment."""
    try:
        content = render_robots([Group()], (), [url])
    except ValueError:
        return
    (line,) = [
        text for text in content.decode().splitlines() if text.startswith("Sitemap: ")
    ]
    assert re.fullmatch(r"Sitemap: https://shop\.example/[!-~]*", line)
    assert "#" not in line


@pytest.mark.parametrize("clean", [path_pattern, extra_line, sitemap_url])
def test_what_ends_a_line_is_refused(clean):
    start = URL if clean is sitemap_url else "/x"
    for mark in "\n\r\x00\x85\u2028\u2029":
        with pytest.raises(ValueError, match="line break"):
            clean(f"{start}{mark}Disallow:/")


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("", ""),
        ("/admin/", "/admin/"),
        ("/*?sort=*&a[]=1", "/*?sort=*&a[]=1"),
        ("*.pdf$", "*.pdf$"),
        (" /a b#c ", "/a%20b%23c"),
        ("/büro/%C3%A9", "/b%C3%BCro/%C3%A9"),
    ],
)
def test_a_path_is_encoded_as_crawlers_ask_for_it(path, expected):
    """What a request can hold stays as it is written."""
    assert path_pattern(path) == expected


@pytest.mark.parametrize(
    ("clean", "value"),
    [
        *((agent, "x\nDisallow: /"), (agent, "#"), (agent, "büro"), (agent, "")),
        *((path_pattern, "admin/"), (path_pattern, "/\ud800")),
        *((delay_text, -1), (delay_text, float("nan")), (delay_text, 86_401)),
        *((sitemap_url, "/sitemap.xml"), (sitemap_url, "shop.example")),
        *((sitemap_url, f"{URL}#x"), (sitemap_url, "ftp://a")),
    ],
)
def test_what_its_line_cannot_hold_is_refused(clean, value):
    with pytest.raises(ValueError, match=r"\w"):
        clean(value)


ROBOTS = """
Sitemap: https://shop.example/a.xml # the first
Disallow: /before-any-group
user-agent: Googlebot
User-Agent: bingbot

disallow: /private/
Allow: /private/open
Allow: /same
Disallow: /same
Disallow: /*/secret/
Disallow:
Disallow: no-path
Disallow: /\tcontrol
User-agent: *
Disallow: /größe
Disallow: /*.pdf$
User-agent: googlebot
Disallow: /more
SITEMAP : /b.xml
"""


@pytest.mark.parametrize(
    ("crawler", "path", "expected"),
    [
        ("Googlebot", "/", True),
        ("Googlebot", "/private/a", False),
        ("Googlebot", "/private/open", True),
        ("Googlebot", "/same", True),
        ("Googlebot", "/x/secret/y", False),
        ("Googlebot", "/more", False),  # groups of one crawler count together
        ("Googlebot", "/a.pdf", True),  # and those of all others do not
        ("bingbot", "/private/", False),
        ("bingbot", "/more", True),
        ("other", "/private/", True),
        ("other", "/gr%C3%B6%C3%9Fe/", False),
        ("other", "/a.pdf", False),
        ("other", "/a.pdf?b", True),
        ("other", "/before-any-group", True),
    ],
)
def test_a_robots_txt_is_read_as_crawlers_do(crawler, path, expected):
    """By RFC 9309; what is no rule is skipped."""
    assert parse_robots(ROBOTS, crawler).allows(path) is expected
