"""``Source``: entries from any code, paged by position."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date

import pytest

from django_sitemaps_plus import Alternate, Entry, Image, Source
from django_sitemaps_plus.conf import Site
from django_sitemaps_plus.core.key_ranges import KeyRange
from django_sitemaps_plus.core.limits import MAX_ENTRIES
from django_sitemaps_plus.exceptions import StalePlanError
from django_sitemaps_plus.sites import in_force
from django_sitemaps_plus.sources import reader_of
from django_sitemaps_plus.sources.lines import Tally
from django_sitemaps_plus.sources.querysets import at_positions

SITE = Site("default", "https://shop.example")


class Numbers(Source):
    """Pages 0, 1, 2 ... up to a count."""

    def __init__(self, count: int) -> None:
        self.count = count
        self.made = 0

    def entries(self, origin: str) -> Iterator[Entry]:
        for number in range(self.count):
            self.made += 1
            yield Entry(f"{origin}/{number}", lastmod=None)


def read(source: Source, key_range: KeyRange | None = None) -> tuple[list[str], Tally]:
    """Return the lines of a page."""
    tally = Tally("section")
    with in_force(SITE):
        chunks = reader_of(source).chunks(key_range or KeyRange(), tally)
        return "".join(chunks).splitlines(), tally


class TestExtensions:
    def test_what_a_page_does_not_declare_is_left_out(self):
        """A prefix without a namespace would break the page."""

        class Pictures(Source):
            extensions = ["image"]

            def entries(self, origin: str) -> Iterator[Entry]:
                url = f"{origin}/"
                yield Entry(
                    url, images=(Image(url),), alternates=(Alternate("de", url),)
                )
                yield Entry(url)

        lines, tally = read(Pictures())
        url = "<loc>https://shop.example/</loc>"
        image = url.replace("loc", "image:loc")
        assert lines == [
            f"<url>{url}<image:image>{image}</image:image></url>",
            f"<url>{url}</url>",
        ]
        assert (tally.entries, tally.dropped) == (2, 1)
        assert "its source's extensions lack 'xhtml'" in tally.problems[0]


class TestPages:
    def test_a_page_begins_at_each_step(self):
        """Its key is the position of its first entry."""
        assert list(reader_of(Numbers(25)).first_keys(10)) == ["0", "10", "20"]
        assert list(reader_of(Numbers(20)).first_keys(10)) == ["0", "10"]
        assert list(reader_of(Numbers(0)).first_keys(10)) == []

    def test_a_page_holds_the_entries_of_its_range(self):
        """From its first position up to that of the next page."""
        lines, tally = read(Numbers(25), KeyRange("10", "12"))
        assert lines == [
            "<url><loc>https://shop.example/10</loc></url>",
            "<url><loc>https://shop.example/11</loc></url>",
        ]
        assert tally.entries == 2
        assert len(read(Numbers(25), KeyRange(None, "10"))[0]) == 10
        assert len(read(Numbers(25), KeyRange("20", None))[0]) == 5
        assert read(Numbers(25), KeyRange("30", None))[0] == []

    def test_nothing_is_read_beyond_the_page(self):
        """A generator of millions stays where it is."""
        source = Numbers(1_000)
        read(source, KeyRange("10", "20"))
        assert source.made == 20

    @pytest.mark.parametrize(
        ("limit", "most"),
        [(10_000, 11_000), (5, 5), (1_000, 1_000), (50_000, MAX_ENTRIES)],
    )
    def test_a_page_may_grow_by_a_tenth(self, limit, most):
        """But never past what the protocol allows."""
        source = Numbers(0)
        source.limit = limit
        assert reader_of(source).rows_per_page == limit
        assert reader_of(source).max_entries == most

    @pytest.mark.parametrize("bound", ["", "a", "-1", "1.5", "\u0661", "7f0c"])
    def test_a_bound_that_is_no_position_is_a_stale_plan(self, bound):
        """The source was paged by key when the plan was made."""
        with pytest.raises(StalePlanError, match="is not a position"):
            at_positions([], KeyRange(None, bound))


class TestEntries:
    def test_a_source_says_them_itself(self):
        """There is nothing to fall back on."""
        with pytest.raises(NotImplementedError, match="does not define its entries"):
            Source().entries("https://shop.example")

    def test_one_of_another_origin_is_left_out(self):
        """A sitemap lists its own host."""

        class Foreign(Source):
            def entries(self, origin):
                yield Entry("https://other.example/", images=[Image(f"{origin}/a.jpg")])
                yield Entry(f"{origin}/a")

        lines, tally = read(Foreign())
        assert lines == ["<url><loc>https://shop.example/a</loc></url>"]
        assert (tally.entries, tally.skipped) == (1, 1)
        assert "is not on https://shop.example" in tally.problems[0]

    def test_what_is_no_entry_is_left_out(self):
        """It is counted and named."""

        class Odd(Source):
            def entries(self, origin):
                return ["\u05d0", None, Entry(f"{origin}/a")]

        lines, tally = read(Odd())
        assert (len(lines), tally.skipped) == (1, 2)
        assert tally.problems[0].startswith("row '\u05d0' left out: ")

    def test_the_newest_lastmod_is_kept(self):
        """For the index."""

        class Dated(Source):
            def entries(self, origin):
                for day in (5, 20, 7):
                    yield Entry(f"{origin}/{day}", lastmod=date(2026, 11, day))
                yield Entry(f"{origin}/none")

        assert read(Dated())[1].newest == "2026-11-20"


class TestRepr:
    def test_it_names_module_and_class(self):
        """Messages about a section show it."""
        assert repr(Numbers(1)) == f"<{__name__}.Numbers>"
