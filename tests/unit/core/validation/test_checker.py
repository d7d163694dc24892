"""Each broken file is found by its own rule; nothing is found in a good one."""

from __future__ import annotations

import gzip
import tracemalloc
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from django_sitemaps_plus.core.validation import WORDS, Checker, Problem
from tests.support.validation import PAGE, entry, index, urlset

from .corpus import CORPUS, article, bomb, link, of

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)

#: Rules of what fetches files and asks pages.
OTHERS = {"unreachable", "http-status", "fetch-redirect", "lastmod-now"}


def pieces(content: bytes, size: int = 65_536) -> Iterator[bytes]:
    """Yield a file as it is read."""
    for start in range(0, len(content), size):
        yield content[start : start + size]


def found(content: bytes, url: str = PAGE, *, listed: bool = False) -> list[Problem]:
    """Return the problems of a file."""
    problems: list[Problem] = []
    checker = Checker(problems.append, NOW)
    checker.check(url, pieces(content), url, listed=listed)
    checker.finish()
    return problems


@pytest.mark.parametrize("rule", CORPUS)
def test_each_broken_file_is_found_by_its_own_rule(rule):
    """With its line, and by that rule alone."""
    broken = CORPUS[rule]
    problems = found(broken.content, broken.name, listed=broken.listed)
    assert {problem.rule for problem in problems} == {rule}
    assert problems[0].line == broken.line
    assert WORDS[rule] in str(problems[0])


def test_the_corpus_has_every_rule():
    """But for those of what asks for files and pages."""
    assert len(CORPUS) >= 60
    asked = {rule for rule in WORDS if rule.startswith("page-")} | OTHERS
    assert WORDS.keys() - asked == CORPUS.keys()


GOOD = [
    *("", "<lastmod>2026</lastmod>", "<lastmod>2026-11</lastmod>"),
    *("<lastmod>2026-11-20T10:00Z</lastmod>", "<lastmod> 2026-11-20 </lastmod>"),
    "<lastmod>2026-11-20T10:00:00.123456+01:00</lastmod><priority>1</priority>",
    "<priority>0.5</priority><lastmod>2026-11-20</lastmod>",  # in any order
    "<mobile:mobile xmlns:mobile='http://www.google.com/schemas/mobile/1.0'/>",
    link() + link("x-default") + link("zh-Hant-TW"),
    article(),
    article(publication_date="2026-11-18"),
    "<!-- a comment --><changefreq><![CDATA[daily]]></changefreq>",
]


TEXT = "https://shop.example/a\nhttps://shop.example/caf%C3%A9\r\n\n"


@pytest.mark.parametrize("name", [PAGE, f"{PAGE}.txt", f"{PAGE}.txt.gz"])
@pytest.mark.parametrize("size", [7, 65_536])
def test_a_text_sitemap_is_a_url_a_line(name, size):
    """Whatever it is called, with a BOM or without, and gzipped."""
    content = TEXT.encode()
    for data in (content, b"\xef\xbb\xbf" + content, gzip.compress(content)):
        if name.endswith(".gz") and data[:2] != b"\x1f\x8b":
            continue
        problems: list[Problem] = []
        file = Checker(problems.append, NOW).check(name, pieces(data, size))
        assert problems == []
        assert (file.kind, file.count) == ("url", 2)
        assert file.urls == TEXT.split()


@pytest.mark.parametrize(
    ("lines", "rules"),
    [
        ("/b\n", ["loc-relative"]),
        ("https://other.example/\n", ["loc-host"]),
        (TEXT, ["loc-duplicate", "loc-duplicate"]),
        ("https://shop.example/b c\n", ["loc-encoding"]),
    ],
)
def test_what_is_wrong_in_a_text_sitemap_has_its_line(lines, rules):
    problems = found((TEXT + lines).encode(), f"{PAGE}.txt")
    assert [it.rule for it in problems] == rules
    assert problems[0].line == 4
    assert [it.rule for it in found(b"about\n", f"{PAGE}.txt")] == ["loc-relative"]


@pytest.mark.parametrize("code", ["en-UK", "jp", "es-LA", "en-EU", "us"])
def test_a_code_that_means_nothing_is_an_error(code):
    problems = found(of(entry("/a", link() + link(code, "/b"))).content)
    assert [it.rule for it in problems] == ["alternate-hreflang"]
    assert not problems[0].is_warning
    assert "Did you mean" in problems[0].message
    problems = found(urlset(entry("/a", article(language="jp"))))
    assert [it.rule for it in problems] == ["news-language"]


@pytest.mark.parametrize("inside", GOOD)
def test_nothing_is_found_in_a_good_file(inside):
    """Plain, with a BOM, and gzipped, whatever the size of the pieces."""
    content = urlset(entry("/a", inside), entry("/b?a=1&amp;b=2"), entry(""))
    for data in (content, b"\xef\xbb\xbf" + content, gzip.compress(content)):
        assert found(data) == []
    problems: list[Problem] = []
    Checker(problems.append, NOW).check(PAGE, pieces(gzip.compress(content), 7))
    assert problems == []


def test_files_are_compared_with_each_other():
    """A URL twice, and a language version of another file."""
    problems: list[Problem] = []
    checker = Checker(problems.append, NOW)
    both = link() + link("fr", "/fr/a")
    one, two = urlset(entry("/a", both)), urlset(entry("/fr/a", both))
    assert checker.check("index", [index("/1.xml")]).urls
    for name, content in (("1.xml", one), ("2.xml", two)):
        checker.check(name, [content])
    checker.finish()
    assert problems == []
    checker.check("3.xml", [one])
    assert [str(problem) for problem in problems] == [
        "3.xml:3: error loc-duplicate: https://shop.example/a is also in 1.xml: list "
        "it once [Invalid URL]"
    ]


def test_a_file_without_url_is_of_the_first_origin():
    """Of all files that are checked together."""
    problems: list[Problem] = []
    checker = Checker(problems.append, NOW)
    checker.check("1.xml", [index("/a.xml")])
    other = urlset(entry("/a")).replace(b"shop.example", b"other.example")
    checker.check("2.xml", [other])
    assert [problem.rule for problem in problems] == ["loc-host"]


def test_origins_of_languages_are_no_other_hosts():
    """Whichever entry is first."""
    problems: list[Problem] = []
    checker = Checker(problems.append, NOW, ["https://shop.example.de/"])
    german = urlset(entry("/a")).replace(b"shop.example/a", b"shop.example.de/a")
    other = urlset(entry("/b")).replace(b"shop.example", b"other.example")
    for number, data in enumerate([german, urlset(entry("/a")), other]):
        checker.check(f"{number}.xml", [data])
    assert [problem.rule for problem in problems] == ["loc-host"]


def test_a_broken_location_gives_no_origin():
    """The first one that is a URL does, and what is broken is reported."""
    problems: list[Problem] = []
    broken = "<url><loc>https://[bad</loc></url>", "<url><loc>ftp://a/x</loc></url>"
    Checker(problems.append, NOW).check("1.xml", [urlset(*broken, entry("/a"))])
    assert [problem.rule for problem in problems] == ["loc-invalid", "loc-invalid"]


def test_bombs_cost_little_memory():
    """Of gzip, of one element, and of elements in each other."""
    deep = urlset("<url>" * 3_000_000)
    wide = urlset(entry("/a", "<image:caption>" + "x" * 30_000_000))
    for content, rule in (
        (bomb(), "file-size"),
        (deep, "entry-size"),
        (wide, "entry-size"),
    ):
        problems: list[Problem] = []
        data = list(pieces(content))
        tracemalloc.start()
        Checker(problems.append, NOW).check(PAGE, data)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert [problem.rule for problem in problems] == [rule]
        assert peak < 20_000_000


def endless() -> Iterable[bytes]:
    """Yield more than a file may have, and fail if it is asked for much more."""
    yield urlset().partition(b"</urlset>")[0]
    for _ in range(55):
        yield b" " * 1_000_000
    pytest.fail("it is read on")


def test_reading_ends_at_the_limit():
    """An endless answer is not read to its end."""
    problems: list[Problem] = []
    Checker(problems.append, NOW).check(PAGE, endless())
    assert [problem.rule for problem in problems] == ["file-size"]


@given(st.sampled_from(list(CORPUS)), st.data())
def test_whatever_a_file_holds_it_is_reported(rule, data):
    """No byte, wherever it comes, makes the checker fail."""
    content = bytearray(CORPUS[rule].content[:2_000])
    for _ in range(data.draw(st.integers(0, 5))):
        place = data.draw(st.integers(0, len(content)))
        content[place : place + data.draw(st.integers(0, 20))] = data.draw(
            st.binary(max_size=5) | st.sampled_from([b"<loc>", b"</url>", b"//[", b'"'])
        )
    for problem in found(bytes(content), CORPUS[rule].name):
        assert problem.rule in WORDS
        assert str(problem).isprintable()
