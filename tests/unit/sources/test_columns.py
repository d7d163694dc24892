"""Batches of rows become the lines that a slow, obvious model writes."""

import random
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime
from functools import partial
from operator import itemgetter
from types import SimpleNamespace
from typing import Any
from uuid import UUID

import pytest
from django.urls import reverse

from django_sitemaps_plus import ModelSource, Route
from django_sitemaps_plus.conf import Site
from django_sitemaps_plus.core.entries import Alternate, Entry, Image, News, Video
from django_sitemaps_plus.core.limits import MAX_URL_LENGTH
from django_sitemaps_plus.core.locations import absolute_url
from django_sitemaps_plus.sources import Tally, dates
from django_sitemaps_plus.sources.columns import called
from django_sitemaps_plus.sources.compiling import compile_lines
from django_sitemaps_plus.sources.lines import Lines, lines_of
from django_sitemaps_plus.sources.reading import listed_rows
from tests.support.entries import entry_line
from tests.support.testapp.models import Product

from . import zoo
from .zoo import CASES, I18N_CASES, MISSING, TEXTS, ZOO, in_languages, surroundings

ORIGIN = "https://shop.example"
ORIGINS = (ORIGIN, "http://[2001:db8::1]:8080", "http://a.b")
PREFIXES = ("/", "/app/", "/o%d%% \"\u00fc'&<x>?#/a.b+(c)/", "//", "/\u05d0/\U0001f600")
URL = f"{ORIGIN}/a'&\u00e9.jpg"
MOMENT = datetime(2026, 11, 20, 9, 30, tzinfo=UTC)
NEWS = News(name="P&Q", language="en", publication_date=MOMENT, title="T")
VIDEO = Video(thumbnail_loc=URL, title="<\n>", description="D", content_loc=URL)
ERROR = ValueError("no value")

#: Names of patterns that are literal text and Django's own converters.
TOGETHER = {
    *("root", "plain", "untyped", "str", "int", "slug", "uuid", "path", "path-then"),
    *("two", "swapped", "bare-str", "non-ascii", "quotes", "marks", "words", "twice"),
    *("included", "deep", "shop:home", "shop:item", "stall:item", "other:item"),
    *("other:home", "two:item", "outer:inner:item", "outer:shop:item", "flat:item"),
    *("one:item", "both"),
}

#: Words of several languages, and of other characters that URLs and XML have.
WORDS = ("shoe", "d'or", "a&b", "caf\u00e9", "\u03b1\u03b2", "\u05e9\u05dc", "x-1", "~")

#: Of each field values that are listed, and others.
VALUES: dict[str, tuple[Sequence[Any], Sequence[Any]]] = {
    "lastmod": ((MOMENT, date(2026, 1, 2)), (5, ERROR, datetime(2026, 1, 1))),  # noqa: DTZ001
    "changefreq": (("daily", "never"), ("often", "", 1, [], ERROR)),
    "priority": ((0.5, 1, "0.7", 0.12345), (True, -1, "x", float("nan"), [], ERROR)),
    "images": (
        (URL, [URL, Image(URL)], (), "/a'.jpg", "", [None, "/\u00e9", ""]),
        ("a.jpg", 5, ["/a", "a"], b"/a", ERROR),
    ),
    "videos": ((VIDEO, [VIDEO, VIDEO]), (5, [URL], ERROR)),
    "news": ((NEWS,), ("news", ERROR)),
    "alternates": (
        ([("de", URL), Alternate("fr", URL), ["es", URL]], []),
        ([("de-1996", URL), ("en", URL)], ["x"], 5, ERROR),
    ),
}


def model(
    rows: Sequence[Any], location: Callable[[Any], Any], origin: str = ORIGIN
) -> tuple[str, Tally]:
    """Write rows one by one; what else a row lists is by the name of its field."""
    text, tally = "", Tally("section")
    for row in rows:
        try:
            entry = Entry(absolute_url(location(row), origin))
        except Exception:  # noqa: BLE001 - whatever it is, the row has no location
            tally.skipped += 1
            continue
        for name in VALUES:
            found = row.get(name) if isinstance(row, dict) else None
            is_many = name == "alternates" and isinstance(found, list)
            for one in found if is_many else [found]:
                try:
                    entry = with_value(entry, name, one)
                except Exception:  # noqa: BLE001 - or that value is not listed
                    tally.dropped += 1
        text += entry_line(entry)
        tally.entries += 1
        tally.newest = max(tally.newest, entry.lastmod_text or "")
    return text, tally


def with_value(entry: Entry, name: str, found: Any) -> Entry:
    if found is None:
        return entry
    if isinstance(found, Exception):
        raise found
    if name == "alternates":
        one = found if isinstance(found, Alternate) else Alternate(*found)
        found = (*entry.alternates, one)
    if isinstance(found, Video):
        found = [found]
    if name == "images":
        images = found if isinstance(found, list | tuple) else [found]
        found = [
            ORIGIN + one if isinstance(one, str) and one.startswith("/") else one
            for one in images
            if one
        ]
    return replace(entry, **{name: found})


def check(lines: Lines, rows: Sequence[Any], expected: tuple[str, Tally]) -> Tally:
    tally = Tally("section")
    assert lines.render(rows, tally) == expected[0], rows
    assert len(tally.problems) == min(20, tally.skipped + tally.dropped)
    tally.left_out = []
    assert tally == expected[1], rows
    return tally


def compiled(origin: str = ORIGIN, **declared: Any) -> tuple[Any, Lines]:
    source = type("DeclaredSource", (ModelSource,), {"model": Product, **declared})()
    return compile_lines(source, listed_rows(source), Site("default", origin))


class TestRoutes:
    """``Route`` is what ``reverse()`` is, whatever is in the rows."""

    @pytest.mark.parametrize("prefix", PREFIXES)
    def test_every_pattern(self, prefix):
        tally = Tally("all")
        with surroundings(ZOO, prefix):
            for name, arguments in (*CASES, *MISSING):
                self.compare(name, arguments, tally)
        assert min(tally.entries, tally.skipped) > 200

    @pytest.mark.parametrize("language", ["en-us", "de", "fr"])
    @pytest.mark.parametrize("has_all_prefixes", [False, True])
    def test_patterns_with_a_language(self, language, has_all_prefixes):
        tally = Tally("all")
        with surroundings(in_languages(has_all_prefixes), "/o%d \u00fc/", language):
            for name, arguments in I18N_CASES:
                self.compare(name, arguments, tally)
        assert tally.entries > 20

    def compare(self, name: str, arguments: str, total: Tally) -> None:
        paths = ("slug", "name", "frequency", "pk")[: len(arguments)]
        route = Route(name, **dict(zip(arguments, paths, strict=True)))
        origin = random.choice(ORIGINS)
        _, lines = compiled(origin, location=route)

        def location(row: Any) -> str:
            assert None not in row
            return reverse(name, kwargs=dict(zip(arguments, row, strict=True)))

        for share in (0, 0, 0.1, 1):
            size = random.randint(1, 9)
            rows = [self.row(len(arguments), share) for _ in range(size)]
            tally = check(lines, rows, model(rows, location, origin))
            total.entries += tally.entries
            total.skipped += tally.skipped

    def row(self, length: int, share: float) -> tuple[Any, ...]:
        rng = random.Random(random.getrandbits(32))
        if rng.random() < share:
            return tuple([zoo.value(rng) for _ in range(length)])
        kind = rng.choice((str, int, UUID, None))
        if kind is None:
            return tuple(rng.choices(WORDS, k=length))
        return tuple([zoo.usual_value(rng, kind) for _ in range(length)])

    def test_patterns_of_djangos_own_converters_need_no_match(self):
        """All of them, and no others; the rest is matched path by path."""
        with surroundings(ZOO):
            routes = [Route(name, **dict.fromkeys(args, "f")) for name, args in CASES]
            plain = {it.name: it.compile().plain for it in routes}
        found = {name for name, it in plain.items() if it and it.columns is None}
        assert found == TOGETHER
        assert [name for name, it in plain.items() if it and it.columns]

    @pytest.mark.parametrize("letter", ["x", "&", "\u00e9"])
    def test_a_url_of_2_047_characters_is_the_longest(self, letter):
        with surroundings(ZOO):
            _, lines = compiled(location=Route("two:item", n="name", a="slug"))
        room = MAX_URL_LENGTH - len(f"{ORIGIN}/stall-2//b/")
        for length in (room // 6, room // 6 + 1, room // 5 + 1, room, room + 1):
            rows = [("a", "b"), (letter * length, "b")]
            for found in (rows, rows[1:]):
                check(
                    lines,
                    found,
                    model(found, lambda row: "/stall-2/{}/{}/".format(*row)),
                )

    def test_a_route_without_arguments_is_the_same_for_all(self):
        with surroundings(ZOO):
            _, lines = compiled(location=Route("plain"))
        check(lines, [(1,), (2,)], model([(1,), (2,)], lambda row: "/plain/"))


class TestUrls:
    """Columns of paths and URLs, as flat pages or methods give."""

    odd = (
        *(
            *("", "a", "//a", "//evil.example/", "/%zz", "/%", "/a#b", "/#", None, 5),
            b"/a",
        ),
        *("/a\n", "/a\n/b", "\n", "\n/a", "/\ud800", "https://other.example/"),
        *("/" + "a" * 2_040, "/" + "&" * 1_000, "/" + "\u00e9" * 340, *TEXTS),
    )

    @pytest.mark.parametrize("origin", ORIGINS)
    def test_what_can_be_listed_is_listed(self, origin):
        more = ("", "/", "//b", "/a", "?x", "#x", "x/", ".evil.example/", ":444/")
        odd = (*self.odd, *[origin + end for end in more], origin.upper() + "/a")
        _, lines = compiled(origin, location="name")
        for path in odd:
            check(lines, [(path,)], model([(path,)], itemgetter(0), origin))
        for _ in range(200):
            usual = [(f"/{random.choice(WORDS)}/%C3%A9/?a=b",) for _ in range(9)]
            rows = [*usual, (random.choice(odd),)]
            random.shuffle(rows)
            check(lines, rows, model(rows, itemgetter(0), origin))


class TestFields:
    """All that an entry may have."""

    def test_what_methods_return_or_raise(self):
        """A bad value costs itself alone, and a row without a location nothing else."""
        locations = ("/a/", "/a/", "/\u00e9/", f"{ORIGIN}/b/", "relative", ERROR)
        for _ in range(300):
            names = ["location", *random.sample(list(VALUES), 3)]
            rows = [self.row(names, locations) for _ in range(random.randint(1, 9))]
            getters = {name: called(partial(self.get, name)) for name in names}
            expected = model(rows, partial(self.get, "location"))
            check(lines_of(getters, ORIGIN, False), rows, expected)

    def row(self, names: list[str], locations: Sequence[Any]) -> dict[str, Any]:
        row = {"location": random.choice(locations)}
        for name in names[1:]:
            usual, odd = VALUES[name]
            row[name] = random.choice((None, *usual, *usual, random.choice(odd)))
        return row

    def get(self, name: str, row: Any) -> Any:
        if isinstance(row[name], Exception):
            raise row[name]
        return row[name]


NOW = "2026-11-20 09:30:00.123456"
DATES = (
    *(NOW, NOW[:19], "0001-01-01 00:00:00", "9999-12-31 23:59:59", None, None, None),
    *("infinity", "-infinity", "2026-02-30 09:30:00", "2026-11-20 25:00:00", ""),
    *("0000-00-00 00:00:00", "2026-11-20", "2026-11-20T09:30:00", "2026-11-20 09:30"),
    *("2026-11-20\n09:30:00", "\n" * 19, "2026-11-20 093000.1", "<b>2026</b>"),
    *("2026-11-2\u0660 09:30:00", "\ud800" * 25, "12026-11-20 09:30:00", 5, b"2026"),
)


@pytest.mark.parametrize("vendor", ["sqlite", "postgresql"])
class TestDates:
    """Dates and moments as SQL writes them, or JSON of SQL does."""

    @pytest.fixture
    def compare(self, monkeypatch, vendor):
        """Return what compares rows of a column with the model."""
        connection = SimpleNamespace(vendor=vendor, timezone=UTC)
        monkeypatch.setattr(dates, "connections", {"default": connection})

        def compare(field: str, found: Sequence[Any]) -> Tally:
            _, lines = compiled(location="name", lastmod=field)
            if vendor == "postgresql":  # to_json() gives it quoted, with a T
                found = [
                    f'"{text}'.replace(" ", "T") if isinstance(text, str) else text
                    for text in found
                ]
            rows = [("/a", text) for text in found]
            start = int(vendor == "postgresql")
            read = [{"lastmod": as_date(field, start, text)} for text in found]
            return check(lines, rows, model(read, lambda row: "/a"))

        return compare

    @pytest.mark.parametrize("field", ["updated_at", "created_on"])
    def test_text_that_is_no_date_is_not_listed(self, compare, field):
        for text in DATES:
            compare(field, [text])
            compare(field, [NOW, text, NOW])
        for _ in range(100):
            compare(field, random.choices(DATES, k=9))

    def test_text_that_is_nearly_a_date(self, compare):
        entries = dropped = 0
        for _ in range(250):
            found = []
            for _ in range(4):
                text = list(random.choice((NOW, NOW[:19])))
                for _ in range(random.choice((0, 1, 2))):
                    text[random.randrange(len(text))] = random.choice("0123456789-: \n")
                found.append("".join(text))
            found = [text for text in found if "24" not in text]  # 3.14: a midnight
            tally = compare("updated_at", [NOW, *found])
            entries, dropped = entries + tally.entries, dropped + tally.dropped
        assert min(entries, dropped) > 250


def as_date(field: str, start: int, text: Any) -> Any:
    """Return what text from a database says, or an error."""
    form = r"\d{4}-\d\d-\d\d" + (r"[T ]\d\d:\d\d:\d\d" if field == "updated_at" else "")
    if text is None:
        return None
    if not isinstance(text, str) or not re.match(form, text[start:], re.ASCII):
        return ERROR
    try:
        found = datetime.fromisoformat(text[start:][: 19 if "T" in form else 10])
    except ValueError as error:
        return error
    return found.replace(tzinfo=UTC) if "T" in form else found.date()
