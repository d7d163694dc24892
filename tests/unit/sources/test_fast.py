"""What renders many rows at once writes what renders them one by one, or declines."""

from __future__ import annotations

import random
from collections.abc import Sequence
from datetime import UTC, datetime
from operator import itemgetter
from typing import Any
from uuid import UUID

import pytest
from django.db.models import Func

from django_sitemaps_plus.core.limits import MAX_URL_LENGTH
from django_sitemaps_plus.sources.dates import DateColumn
from django_sitemaps_plus.sources.declarations import constant, route_getter
from django_sitemaps_plus.sources.fast import Lines, path_lines, route_lines
from django_sitemaps_plus.sources.lines import Getter, RowRenderer, Tally
from django_sitemaps_plus.sources.route import Route

from .zoo import CASES, ZOO, in_languages, surroundings, usual_value, value

ORIGIN = "https://shop.example"
ORIGINS = (ORIGIN, "http://[2001:db8::1]:8080")
NOW = "2026-11-20 09:30:00.123456"

#: Moments and dates as SQL writes them, and as JSON of SQL does.
MOMENTS = DateColumn(Func(), start=0, offset="+00:00")
JSON_MOMENTS = DateColumn(Func(), start=1, offset="+00:00")
DAYS = DateColumn(Func(), start=0, offset="")
JSON_DAYS = DateColumn(Func(), start=1, offset="")

#: Patterns that are literal text and Django's own converters.
FAST = {
    *("root", "plain", "untyped", "str", "int", "slug", "uuid", "path", "path-then"),
    *("two", "swapped", "bare-str", "non-ascii", "quotes", "marks", "words", "twice"),
    *("included", "deep", "shop:home", "shop:item", "stall:item", "other:item"),
    *("other:home", "two:item", "outer:inner:item", "outer:shop:item", "flat:item"),
    *("one:item", "both"),
}

GOOD_DAYS = {"2026-11-20", "0001-01-01"}

#: What a database or a careless column may hand over.
DATES = (
    *(NOW, NOW, NOW, "2026-11-20", "0001-01-01 00:00:00", None, None),
    *('"2026-11-20T09:30:00', '"2026-11-20"', '"infinity"', "infinity", "-infinity"),
    *("2026-02-30 09:30:00", "2026-11-20 25:00:00", "0000-00-00 00:00:00", ""),
    *("2026-11-20T09:30:00", "2026-11-20 09:30", "2026-11-20\n09:30:00", "\n" * 19),
    *("2026-11-20 093000.1", "2026-11-2\u0660 09:30:00", "0000-00-00", "2026-11-2\n"),
    *("<b>2026</b>", "\ud800" * 25, 5, b"2026-11-20 09:30:00"),
    *(datetime(2026, 11, 20, tzinfo=UTC), '"12026-11-20T09:30:00'),
)


class Pair:
    """A route rendered in both ways."""

    def __init__(
        self,
        route: Route,
        origin: str,
        dates: DateColumn | None = None,
        **constants: str,
    ) -> None:
        compiled = route.compile()
        assert compiled.fast is not None
        order = [number for number, _ in compiled.fast.checks]
        columns = [itemgetter(order.index(n)) for n in range(len(route.arguments))]
        getters: dict[str, Getter] = {"location": route_getter(compiled, columns)}
        if dates is not None:
            last = len(order)
            getters["lastmod"] = lambda row: dates.text(row[last])
        getters |= {name: constant(text) for name, text in constants.items()}
        self.slow = RowRenderer(getters, origin)
        self.fast = route_lines(compiled.fast, origin, dates, **constants)

    def compare(self, rows: Sequence[Any]) -> bool:
        """Compare the two; return whether the fast way took the rows."""
        return compare(self.fast, self.slow, rows)


def compare(fast: Lines, slow: RowRenderer, rows: Sequence[Any]) -> bool:
    slowly, quickly = Tally("section"), Tally("section")
    expected = slow.render(rows, slowly)
    got = fast(rows, quickly)
    if got is None:
        assert quickly == Tally("section"), "it counted what it did not write"
        return False
    assert got == expected, rows
    assert quickly == slowly, rows
    return True


def constants(rng: random.Random) -> dict[str, str]:
    texts = {"changefreq": "daily", "priority": "0.5"}
    return {name: text for name, text in texts.items() if rng.random() < 0.5}


class TestRoutes:
    @pytest.mark.parametrize(("name", "arguments"), CASES)
    def test_only_plain_patterns_have_a_fast_form(self, name, arguments):
        """Others need a look at each row."""
        with surroundings(ZOO):
            fast = Route(name, **dict.fromkeys(arguments, "f")).compile().fast
        assert (fast is not None) == (name in FAST)

    @pytest.mark.parametrize("name", ["percent", "percents"])
    def test_a_percent_sign_in_the_pattern_has_no_fast_form(self, name):
        """Django cannot write such a pattern, so neither may we."""
        with surroundings(ZOO):
            assert Route(name, a="f").compile().fast is None

    @pytest.mark.parametrize("prefix", ["/o%d/", "/%/"])
    def test_a_percent_sign_in_the_prefix_has_no_fast_form(self, prefix):
        """Templates and percent signs do not mix."""
        with surroundings(ZOO, prefix):
            assert Route("slug", a="f").compile().fast is None
            assert Route("plain").compile().fast is None

    @pytest.mark.parametrize("prefix", ["/", "/app/", "/\u00fc & 'x'/"])
    def test_usual_values_are_written_the_same(self, prefix):
        """In each pattern, with dates and without, and never declined."""
        rng = random.Random(random.getrandbits(32))
        with surroundings(ZOO, prefix):
            for name, arguments in CASES:
                if name not in FAST:
                    continue
                route = Route(name, **dict.fromkeys(arguments, "f"))
                for dates in (MOMENTS, None):
                    pair = Pair(route, ORIGIN, dates, **constants(rng))
                    rows = usual_rows(rng, route, dates is not None)
                    assert pair.compare(rows), (name, rows)

    @pytest.mark.parametrize("prefix", ["/", "/app/", "/\u00fc & 'x'/"])
    @pytest.mark.parametrize("origin", ORIGINS)
    def test_any_values_are_written_the_same_or_declined(self, prefix, origin):
        """Whole columns of strange values, and one among usual ones."""
        rng = random.Random(random.getrandbits(32))
        taken = []
        with surroundings(ZOO, prefix):
            for name, arguments in CASES:
                if name not in FAST:
                    continue
                route = Route(name, **dict.fromkeys(arguments, "f"))
                for _ in range(12):
                    has_lastmod = rng.random() < 0.5
                    dates = MOMENTS if has_lastmod else None
                    pair = Pair(route, origin, dates, **constants(rng))
                    rows = usual_rows(rng, route, has_lastmod)
                    for number in range(rng.choice((1, 1, len(rows)))):
                        rows[number] = odd_row(rng, route, has_lastmod)
                    rng.shuffle(rows)
                    taken.append(pair.compare(rows))
        assert 10 < sum(taken) < len(taken) / 2

    def test_a_language_in_the_path_is_written_the_same(self):
        """As patterns with a language are plain too."""
        with surroundings(in_languages(True), language="de"):
            pair = Pair(Route("users", a="f"), ORIGIN)
        assert pair.compare([("x",), ("y",)])
        assert "/de/benutzer/x/" in (pair.fast([("x",)], Tally("section")) or "")


def usual_rows(rng: random.Random, route: Route, has_lastmod: bool) -> list[Any]:
    with_none = rng.random() < 0.5
    kinds = [kind(route, name) for name in column_order(route)]
    rows = []
    for _ in range(rng.randint(1, 12)):
        row = [usual_value(rng, kind) for kind in kinds]
        if has_lastmod:
            row.append(rng.choice((NOW, None)) if with_none else NOW)
        rows.append(tuple(row))
    return rows


def column_order(route: Route) -> list[str]:
    fast = route.compile().fast
    assert fast is not None
    names = list(route.arguments)
    return [names[number] for number, _ in fast.checks]


def kind(route: Route, name: str) -> type:
    """Return the kind of value that an argument of the zoo's patterns takes."""
    if route.name == "twice":
        return str if len(route.arguments) == 2 and name == "a" else int
    if route.name in ("int", "both", "included", "deep") and name == "a":
        return int
    if route.name == "uuid":
        return UUID
    if (route.name, name) == ("included", "b"):
        return str
    if name in "bi" or (route.name.startswith("other:") and name == "n"):
        return int
    return str


def odd_row(rng: random.Random, route: Route, has_lastmod: bool) -> tuple[Any, ...]:
    row = [value(rng) for _ in route.arguments]
    return (*row, rng.choice(DATES)) if has_lastmod else tuple(row)


class TestDates:
    @pytest.mark.parametrize("date", DATES)
    @pytest.mark.parametrize(
        ("column", "usual"),
        [
            (MOMENTS, {NOW, "0001-01-01 00:00:00", "2026-11-20T09:30:00"}),
            (JSON_MOMENTS, {'"2026-11-20T09:30:00'}),
            (DAYS, {d for d in DATES if isinstance(d, str) and d[:10] in GOOD_DAYS}),
            (JSON_DAYS, {'"2026-11-20"', '"2026-11-20T09:30:00'}),
        ],
    )
    def test_a_date_alone_is_written_the_same_or_declined(self, column, usual, date):
        """Text that is no date of our own form is left to the other way."""
        with surroundings(ZOO):
            pair = Pair(Route("slug", a="f"), ORIGIN, column)
        is_usual = date is None or date in usual
        assert pair.compare([("x", date), ("y", date)]) is is_usual

    def test_any_text_is_written_the_same_or_declined(self):
        """Thousands of texts that are nearly a date-time."""
        rng = random.Random(random.getrandbits(32))
        with surroundings(ZOO):
            pair = Pair(Route("slug", a="f"), ORIGIN, MOMENTS)
        taken = 0
        for _ in range(4_000):
            text = list(rng.choice((NOW, NOW[:19])))
            for _ in range(rng.choice((1, 2, 3))):
                text[rng.randrange(len(text))] = rng.choice("0123456789-:T+ \n")
            if "24" not in (date := "".join(text)):  # as of Python 3.14, a midnight
                taken += pair.compare([("x", date)])
        assert taken > 500

    def test_the_newest_is_found(self):
        """It is what the index says of the page."""
        with surroundings(ZOO):
            pair = Pair(Route("slug", a="f"), ORIGIN, MOMENTS)
        tally = Tally("section", newest="2025-01-01T00:00:00+00:00")
        pair.fast([("x", None), ("y", NOW), ("z", "2026-01-01 00:00:00")], tally)
        assert tally.newest == "2026-11-20T09:30:00+00:00"
        pair.fast([("x", "2026-01-01 00:00:00")], tally)
        assert tally.newest == "2026-11-20T09:30:00+00:00"
        assert tally.entries == 4


class TestLength:
    @pytest.mark.parametrize("origin", ORIGINS)
    def test_a_url_of_2_047_characters_is_the_longest(self, origin):
        """One character more, and the other way skips the row."""
        with surroundings(ZOO):
            pair = Pair(Route("slug", a="f"), origin)
        room = MAX_URL_LENGTH - len(f"{origin}/slug//")
        assert pair.compare([("y",), ("x" * room,)])
        assert not pair.compare([("y",), ("x" * (room + 1),)])

    def test_all_arguments_of_a_url_count(self):
        """Together they must fit."""
        with surroundings(ZOO):
            pair = Pair(Route("two", a="f", b="f"), ORIGIN)
        room = MAX_URL_LENGTH - len(f"{ORIGIN}/two///")
        assert pair.compare([("x" * (room - 40), 5)])
        assert not pair.compare([("x" * room, 5)])

    @pytest.mark.parametrize("digits", [20, 50, 3_000, 5_000])
    def test_a_number_longer_than_any_key_is_declined(self, digits):
        """Its text is longer than the room that is kept for it."""
        with surroundings(ZOO):
            pair = Pair(Route("int", a="f"), ORIGIN)
        assert not pair.compare([(10**digits,), (5,)])

    def test_the_largest_number_of_64_bits_is_taken(self):
        """No key of a database is larger."""
        with surroundings(ZOO):
            pair = Pair(Route("int", a="f"), ORIGIN)
        assert pair.compare([(2**64 - 1,), (0,)])


class TestPaths:
    PATHS = (
        *("/", "/a/", "/a.html", "/a/b//c/", "/x_y~z-1/", "/" + "a" * 500),
        *("", "a", "//a", "//evil.example/", "/a b", "/%41", "/\u00fc", "/a?b", "/a#b"),
        *("/a\n", "/a\n/b", "\n", "/&", "/'", "/\ud800", "/\x00", None, 5, b"/a"),
        *("https://shop.example/a", "https://other.example/", "/" + "a" * 2_040),
    )

    def pair(self, dates: DateColumn | None = None) -> tuple[Lines, RowRenderer]:
        getters: dict[str, Getter] = {"location": itemgetter(0)}
        if dates is not None:
            getters["lastmod"] = lambda row: dates.text(row[1])
        return path_lines(ORIGIN, dates), RowRenderer(getters, ORIGIN)

    @pytest.mark.parametrize("path", PATHS)
    def test_a_path_is_written_the_same_or_declined(self, path):
        """A column of paths, such as flat pages have."""
        fast, slow = self.pair()
        usual = self.PATHS.index(path) < 6
        assert compare(fast, slow, [(path,)]) is usual
        assert compare(fast, slow, [("/x",), (path,), ("/y",)]) is usual

    def test_dates_stand_beside_them(self):
        """As with routes."""
        fast, slow = self.pair(MOMENTS)
        assert compare(fast, slow, [("/x", NOW), ("/y", None)])
        assert not compare(fast, slow, [("/x", NOW), ("/y", "soon")])

    @pytest.mark.parametrize("path", ["/LASTMOD/", "/LOCATION/"])
    def test_no_word_in_a_path_is_taken_for_a_mark(self, path):
        """Nor in an origin."""
        fast, slow = self.pair(MOMENTS)
        assert compare(fast, slow, [(path, NOW), (path, None)])


class TestRowRendererWithFastLines:
    def test_a_batch_that_is_declined_goes_row_by_row(self):
        """And only that one."""
        getters: dict[str, Getter] = {"location": itemgetter(0)}
        renderer = RowRenderer(getters, ORIGIN, fast=path_lines(ORIGIN, None))
        tally = Tally("section")
        lines = renderer.render([("/a",), ("/\u00fc",), (None,)], tally)
        assert lines == (
            f"<url><loc>{ORIGIN}/a</loc></url>\n<url><loc>{ORIGIN}/%C3%BC</loc></url>\n"
        )
        assert (tally.entries, tally.skipped) == (2, 1)
