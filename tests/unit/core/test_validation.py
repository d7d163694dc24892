"""Each broken file is found by its own rule; nothing is found in a good one."""

import gzip
import re
import tracemalloc
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from django_sitemaps_plus.core.validation import WARNINGS, WORDS, Checker, Problem
from tests.support.validation import INDEX, PAGE, XMLNS, entry, index, urlset


@dataclass(frozen=True)
class Broken:
    """A file, what it is called, and where its problem is."""

    content: bytes
    line: int = 3
    name: str = PAGE  # its URL
    listed: bool = False  # whether an index lists it


def of(*entries: str, line: int = 3, name: str = PAGE) -> Broken:
    return Broken(urlset(*entries), line, name)


def loc(url: str) -> Broken:
    return of(f"<url><loc>{url}</loc></url>")


def within(inside: str) -> Broken:
    return of(entry("/a", inside))


def image(inside: str) -> Broken:
    return within(f"<image:image>{inside}</image:image>")


IMAGE = "<image:loc>https://cdn.example/a.jpg</image:loc>"

_VIDEO = {
    "thumbnail_loc": "https://cdn.example/a.jpg",
    "title": "T",
    "description": "D",
    "content_loc": "https://cdn.example/a.mp4",
}


def _elements(
    prefix: str, given: dict[str, str], but: tuple[str, ...]
) -> dict[str, str]:
    return {
        name: f"<{prefix}:{name}>{value}</{prefix}:{name}>"
        for name, value in given.items()
        if name not in but
    }


def video(*but: str, more: str = "", **values: str) -> Broken:
    parts = "".join(_elements("video", _VIDEO | values, but).values())
    return within(f"<video:video>{parts}{more}</video:video>")


_NEWS = {
    "name": "The Paper",
    "language": "en",
    "publication_date": "2026-11-20T09:30:00+00:00",
    "title": "Dam opens",
}


def article(*but: str, more: str = "", **values: str) -> str:
    parts = _elements("news", _NEWS | values, but)
    publication = parts.pop("name", "") + parts.pop("language", "")
    if "publication" not in but:
        publication = f"<news:publication>{publication}</news:publication>"
    return f"<news:news>{publication}{''.join(parts.values())}{more}</news:news>"


def news(*but: str, more: str = "", **values: str) -> Broken:
    return within(article(*but, more=more, **values))


def link(language: str = "de", href: str = "/a", rel: str = "alternate") -> str:
    url = f"https://shop.example{href}" if href.startswith("/") else href
    return f'<xhtml:link rel="{rel}" hreflang="{language}" href="{url}"/>'


def bomb() -> bytes:
    """Return gzip data of 60 MB, about a thousandth of it."""
    return gzip.compress(urlset(*[" " * 1_000_000] * 60))


def many(count: int) -> Iterable[str]:
    return (entry(f"/{number}") for number in range(count))


GZIPPED = gzip.compress(urlset(entry("/a")), mtime=0)
HEAD = '<?xml version="1.0" encoding="UTF-8"?>\n'
BODY = f'<urlset xmlns="{XMLNS}">\n{entry("/a")}</urlset>'

CORPUS: dict[str, Broken] = {
    # The file
    "gzip-damaged": Broken(GZIPPED[:20] + b"\xff\xff\xff" + GZIPPED[23:], 0),
    "gzip-truncated": Broken(GZIPPED[:-9], 4),
    "gzip-twice": Broken(gzip.compress(GZIPPED), 0),
    "gzip-missing": Broken(urlset(entry("/a")), 0, f"{PAGE}.gz"),
    "file-size": Broken(bomb(), 55),
    "file-empty": Broken(b" \n\n", 0),
    "utf-8": Broken((HEAD + BODY).encode().replace(b"/a", b"/\xe4"), 3),
    "leading-whitespace": Broken(f"\n{HEAD}{BODY}".encode(), 2),
    "html": Broken(b"<!DOCTYPE html><html><body>Not here</body></html>", 0),
    "doctype": Broken(f'{HEAD}<!DOCTYPE urlset SYSTEM "a.dtd">{BODY}'.encode(), 2),
    "entity": Broken(f"{HEAD}{BODY}".replace("/a", "/&nbsp;").encode(), 3),
    "xml": Broken(f"{HEAD}{BODY}".replace("/a", "/?a&b=1").encode(), 3),
    "prefix": Broken(
        f"{HEAD}{BODY}".replace("</url>", "<image:image/></url>").encode(), 3
    ),
    "root": Broken(HEAD.encode() + b"<sitemaps/>", 2),
    "namespace": Broken(BODY.replace("http:", "https:", 1).encode(), 1),
    "extension-namespace": Broken(
        urlset(entry("/a", "<image:image/>")).replace(
            b"http://www.google.com/schemas/sitemap-image",
            b"https://www.google.com/schemas/sitemap-image",
        )
    ),
    "entry-size": within("<image:image/>" * 20_001),
    "entries-none": Broken(urlset(), 0),
    "entries-many": of(*many(301), line=303),
    # An index
    "index-many": Broken(
        index(*[f"/sitemap-a-{n}.xml" for n in range(301)]), 303, INDEX
    ),
    "index-nested": Broken(index("/sitemap-b.xml"), 2, listed=True),
    "index-self": Broken(index("/sitemap.xml"), 3, INDEX),
    # Tags
    "tag-unknown": within("<last_mod>2026-11-20</last_mod>"),
    "tag-duplicate": within("<priority>0.5</priority><priority>0.6</priority>"),
    "tag-empty": within("<lastmod></lastmod>"),
    "tag-ignored": image(f"{IMAGE}<image:caption>A</image:caption>"),
    # Locations
    "loc-missing": of("<url><priority>0.5</priority></url>"),
    "loc-relative": loc("/a"),
    "loc-invalid": loc("https://me:secret@shop.example/a"),
    "loc-encoding": loc("https://shop.example/größe a"),
    "loc-whitespace": loc("\nhttps://shop.example/a "),
    "loc-fragment": loc("https://shop.example/a#b"),
    "loc-session": loc("https://shop.example/a;jsessionid=1A"),
    "loc-duplicate": of(entry("/a"), entry("/a"), line=4),
    "loc-host": loc("https://other.example/a"),
    "loc-www": loc("https://www.shop.example/a"),
    "loc-protocol": loc("http://shop.example/a"),
    "loc-directory": of(entry("/a"), name="https://shop.example/catalog/sitemap.xml"),
    # Values
    "lastmod-format": within("<lastmod>20.11.2026</lastmod>"),
    "lastmod-zone": within("<lastmod>2026-11-20T10:00:00</lastmod>"),
    "lastmod-future": within("<lastmod>2027-01-01</lastmod>"),
    "changefreq": within("<changefreq>Daily</changefreq>"),
    "priority": within("<priority>1.5</priority>"),
    # Images
    "image-loc-missing": image(""),
    "image-loc": image("<image:loc>/a.jpg</image:loc>"),
    # Videos
    "video-thumbnail-loc-missing": video("thumbnail_loc"),
    "video-title-missing": video("title"),
    "video-description-missing": video("description"),
    "video-location-missing": video("content_loc"),
    "video-url": video(player_loc="player"),
    "video-title": video(title="T" * 101),
    "video-description": video(description="D" * 2_049),
    "media-signed": image(
        "<image:loc>https://b.s3.amazonaws.com/a.jpg?X-Amz-Expires=3600&amp;"
        "X-Amz-Signature=0f</image:loc>"
    ),
    "video-duration": video(duration="28801"),
    "video-restriction": video(
        more='<video:restriction relationship="deny">FR UK</video:restriction>'
    ),
    "video-date": video(publication_date="yesterday"),
    # News
    "news-publication-missing": news("publication", "name", "language"),
    "news-name-missing": news("name"),
    "news-language-missing": news("language"),
    "news-publication-date-missing": news("publication_date"),
    "news-title-missing": news("title"),
    "news-language": news(language="en-us"),
    "news-date": news(publication_date="2026-11-20 09:30"),
    "news-old": news(publication_date="2026-11-17"),
    # Language versions
    "alternate-incomplete": within('<xhtml:link rel="alternate" hreflang="de"/>'),
    "alternate-rel": within(link(rel="canonical")),
    "alternate-hreflang": within(link("de_DE")),
    "alternate-href": within(link() + link("fr", "fr/a")),
    "alternate-duplicate": within(link() + link(href="/b")),
    "alternate-self": within(link("fr", "/fr/a")),
    "alternate-reciprocal": of(
        entry("/a", link() + link("fr", "/fr/a")), entry("/fr/a", link("fr", "/fr/a"))
    ),
}


NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)

#: Rules of what fetches files and asks pages.
OTHERS = {"unreachable", "http-status", "fetch-redirect", "lastmod-now"}


def pieces(content: bytes, size: int = 65_536) -> Iterator[bytes]:
    for start in range(0, len(content), size):
        yield content[start : start + size]


def found(content: bytes, url: str = PAGE, *, listed: bool = False) -> list[Problem]:
    problems: list[Problem] = []
    checker = Checker(problems.append, NOW)
    checker.check(url, pieces(content), url, listed=listed)
    checker.finish()
    return problems


def rules_of(*files: Iterable[bytes]) -> list[str]:
    """Return the rules that files break which are checked together."""
    problems: list[Problem] = []
    checker = Checker(problems.append, NOW, ["https://shop.example.de/"])
    for number, file in enumerate(files):
        checker.check(f"{number}.xml", file)
    return [problem.rule for problem in problems]


@pytest.mark.parametrize("rule", CORPUS)
def test_each_broken_file_is_found_by_its_own_rule(rule, monkeypatch):
    monkeypatch.setattr(f"{Checker.__module__}.MAX_ENTRIES", 300)
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


@pytest.mark.parametrize(
    ("inside", "rule"),
    [
        *[
            (link() + link(code, "/b"), "alternate-hreflang")
            for code in ("jp", "en-UK")
        ],
        (article(language="jp"), "news-language"),
    ],
)
def test_a_code_that_means_nothing_is_an_error(inside, rule):
    [problem] = found(within(inside).content)
    assert (problem.rule, problem.is_warning) == (rule, False)
    assert "Did you mean" in problem.message


@pytest.mark.parametrize("inside", GOOD)
def test_nothing_is_found_in_a_good_file(inside):
    content = urlset(entry("/a", inside), entry("/b?a=1&amp;b=2"), entry(""))
    for data in (content, b"\xef\xbb\xbf" + content, gzip.compress(content)):
        assert found(data) == []
    assert rules_of(pieces(gzip.compress(content), 7)) == []


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


OTHER = urlset(entry("/other")).replace(b"shop.example", b"other.example")
GERMAN = urlset(entry("/a")).replace(b"shop.example/a", b"shop.example.de/a")
BROKEN = "<url><loc>https://[bad</loc></url>", "<url><loc>ftp://a/x</loc></url>"


@pytest.mark.parametrize(
    ("files", "rules"),
    [
        # A file without a URL is held against the first origin of all files.
        ([index("/a.xml"), OTHER], ["loc-host"]),
        # Origins of languages are no other hosts, whichever entry is first.
        ([GERMAN, urlset(entry("/a")), OTHER], ["loc-host"]),
        # A broken location gives no origin.
        ([urlset(*BROKEN, entry("/a"))], ["loc-invalid", "loc-invalid"]),
    ],
    ids=["no url", "language", "broken"],
)
def test_the_first_url_of_all_files_gives_the_origin(files, rules):
    assert rules_of(*[[file] for file in files]) == rules


@pytest.mark.parametrize(
    ("make", "rule"),
    [
        (bomb, "file-size"),
        (lambda: urlset("<url>" * 3_000_000), "entry-size"),
        (lambda: urlset(entry("/a", f"<a>{'x' * 30_000_000}")), "entry-size"),
    ],
    ids=["gzip", "deep", "wide"],
)
def test_bombs_cost_little_memory(make, rule):
    data = list(pieces(make()))
    tracemalloc.start()
    assert rules_of(data) == [rule]
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 20_000_000


def endless() -> Iterable[bytes]:
    """Yield more than a file may have, and fail if it is asked for much more."""
    yield urlset().partition(b"</urlset>")[0]
    for _ in range(55):
        yield b" " * 1_000_000
    pytest.fail("it is read on")


def test_reading_ends_at_the_limit():
    assert rules_of(endless()) == ["file-size"]


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


RULES = Path(__file__).parents[3] / "docs" / "reference" / "sitemap-rules.md"


def test_every_rule_is_documented():
    """Each once, warnings in italics."""
    found = re.findall(r"^\| ([^|]*`[^|]*) \|", RULES.read_text("utf-8"), re.MULTILINE)
    assert sorted(code.strip("*`") for code in found) == sorted(WORDS)
    assert {code.strip("*`") for code in found if code[0] == "*"} == WARNINGS
