"""``ViewSource``: named patterns without a row."""

from __future__ import annotations

from datetime import date

from django_sitemaps_plus import ViewSource
from django_sitemaps_plus.conf import Site
from django_sitemaps_plus.core.key_ranges import KeyRange
from django_sitemaps_plus.sites import in_force
from django_sitemaps_plus.sources import reader_of
from django_sitemaps_plus.sources.lines import Tally

SITE = Site("default", "https://shop.example")


class Pages(ViewSource):
    """Names, and a pair of a name and its arguments."""

    views = ["home", "about", ("product-detail", {"slug": "shoe"})]


def read(
    source: ViewSource, key_range: KeyRange | None = None
) -> tuple[list[str], Tally]:
    """Return the lines of a page."""
    tally = Tally("section")
    with in_force(SITE):
        chunks = reader_of(source).chunks(key_range or KeyRange(), tally)
        return "".join(chunks).splitlines(), tally


class TestViewSource:
    def test_each_view_is_an_entry(self):
        """In the order of the list."""
        lines, tally = read(Pages())
        assert lines == [
            "<url><loc>https://shop.example/</loc></url>",
            "<url><loc>https://shop.example/about/</loc></url>",
            "<url><loc>https://shop.example/products/shoe/</loc></url>",
        ]
        assert tally.entries == 3

    def test_a_view_that_does_not_reverse_is_left_out(self):
        """Counted and named; the others are listed."""

        class Wrong(ViewSource):
            views = ["home", "nowhere", ("product-detail", {"slug": "a b"}), "about"]

        lines, tally = read(Wrong())
        assert len(lines) == 2
        assert tally.skipped == 2
        assert "NoReverseMatch" in tally.problems[0]

    def test_values_are_constants_or_methods(self):
        """A method takes the view as listed."""

        class Valued(Pages):
            changefreq = "weekly"
            lastmod = date(2026, 11, 20)

            def priority(self, item):
                return 1.0 if item == "home" else None

        lines, _ = read(Valued())
        rest = "<lastmod>2026-11-20</lastmod><changefreq>weekly</changefreq>"
        assert lines[0] == (
            f"<url><loc>https://shop.example/</loc>{rest}<priority>1.0</priority></url>"
        )
        assert lines[1] == f"<url><loc>https://shop.example/about/</loc>{rest}</url>"

    def test_only_extensions_that_it_has_are_declared(self):
        """An ordinary page needs no other namespace."""

        class Pictured(Pages):
            news = None

            def images(self, item):
                return [f"https://cdn.example/{item}.jpg"]

        assert list(reader_of(Pages()).extensions) == []
        assert list(reader_of(Pictured()).extensions) == ["image"]
        assert "<image:loc>https://cdn.example/home.jpg" in read(Pictured())[0][0]

    def test_pages_are_positions_in_the_list(self):
        """As for any source without keys."""
        assert list(reader_of(Pages()).first_keys(2)) == ["0", "2"]
        assert len(read(Pages(), KeyRange("2", None))[0]) == 1

    def test_no_views_make_no_entries(self):
        """A source that lists nothing yet."""
        assert list(reader_of(ViewSource()).first_keys(10)) == []
        assert read(ViewSource())[0] == []
