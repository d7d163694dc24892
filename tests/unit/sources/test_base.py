"""Sources of any entries and of views, and the surroundings in which they are read."""

from collections.abc import Callable, Iterator
from datetime import date
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from django.urls import (
    get_script_prefix,
    get_urlconf,
    reverse,
    set_script_prefix,
    set_urlconf,
)
from django.utils import timezone, translation

from django_sitemaps_plus import Alternate, Entry, Image, Source, ViewSource
from django_sitemaps_plus.conf import Site, in_force
from django_sitemaps_plus.core.key_ranges import KeyRange
from django_sitemaps_plus.core.limits import MAX_ENTRIES
from django_sitemaps_plus.exceptions import StalePlanError
from django_sitemaps_plus.sources import reader_of
from django_sitemaps_plus.sources.languages import surroundings
from django_sitemaps_plus.sources.lines import Tally
from django_sitemaps_plus.sources.querysets import at_positions

SITE = Site("default", "https://shop.example")


class Numbers(Source):
    def __init__(self, count: int) -> None:
        self.count = count
        self.made = 0

    def entries(self, origin: str) -> Iterator[Entry]:
        for number in range(self.count):
            self.made += 1
            yield Entry(f"{origin}/{number}", lastmod=None)


def read(source: Source, key_range: KeyRange | None = None) -> tuple[list[str], Tally]:
    tally = Tally("section")
    with in_force(SITE):
        chunks = reader_of(source).chunks(key_range or KeyRange(), tally)
        return "".join(chunks).splitlines(), tally


def entries_of(make: Callable[[str], Any], **attributes: Any) -> Source:
    own = {"entries": lambda self, origin: make(origin), **attributes}
    return type("Entries", (Source,), own)()


class TestPages:
    def test_a_page_begins_at_each_step(self):
        assert list(reader_of(Numbers(25)).first_keys(10)) == ["0", "10", "20"]
        assert list(reader_of(Numbers(20)).first_keys(10)) == ["0", "10"]
        assert list(reader_of(Numbers(0)).first_keys(10)) == []

    def test_a_page_holds_the_entries_of_its_range(self):
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
        source = Numbers(1_000)
        read(source, KeyRange("10", "20"))
        assert source.made == 20

    @pytest.mark.parametrize(
        ("limit", "most"),
        [(10_000, 11_000), (5, 5), (1_000, 1_000), (50_000, MAX_ENTRIES)],
    )
    def test_a_page_may_grow_by_a_tenth(self, limit, most):
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
        with pytest.raises(NotImplementedError, match="does not define its entries"):
            Source().entries("https://shop.example")

    def test_one_of_another_origin_is_left_out(self):
        lines, tally = read(
            entries_of(
                lambda origin: [Entry("https://a.example/"), Entry(f"{origin}/a")]
            )
        )
        assert lines == ["<url><loc>https://shop.example/a</loc></url>"]
        assert (tally.entries, tally.skipped) == (1, 1)
        assert "is not on https://shop.example" in tally.problems[0]

    def test_what_is_no_entry_is_left_out(self):
        odd = entries_of(lambda origin: ["\u05d0", None, Entry(f"{origin}/a")])
        lines, tally = read(odd)
        assert (len(lines), tally.skipped) == (1, 2)
        assert tally.problems[0].startswith("row '\u05d0' left out: ")

    def test_what_a_page_does_not_declare_is_left_out(self):
        """A prefix without a namespace would break the page."""
        url = f"{SITE.origin}/"
        pictured = Entry(url, images=[Image(url)], alternates=[Alternate("de", url)])
        lines, tally = read(
            entries_of(lambda origin: [pictured, Entry(url)], extensions=["image"])
        )
        loc = f"<loc>{url}</loc>"
        image = loc.replace("loc", "image:loc")
        assert lines == [
            f"<url>{loc}<image:image>{image}</image:image></url>",
            f"<url>{loc}</url>",
        ]
        assert (tally.entries, tally.dropped) == (2, 1)
        assert "its source's extensions lack 'xhtml'" in tally.problems[0]

    def test_the_newest_lastmod_is_kept(self):
        days = [date(2026, 11, day) for day in (5, 20, 7)]
        dated = entries_of(
            lambda o: [Entry(f"{o}/", lastmod=it) for it in [*days, None]]
        )
        assert read(dated)[1].newest == "2026-11-20"


def test_its_repr_names_module_and_class():
    assert repr(Numbers(1)) == f"<{__name__}.Numbers>"


class Pages(ViewSource):
    """Names, and a pair of a name and its arguments."""

    views = ["home", "about", ("product-detail", {"slug": "shoe"})]


class TestViewSource:
    def test_each_view_is_an_entry(self):
        lines, tally = read(Pages())
        assert lines == [
            "<url><loc>https://shop.example/</loc></url>",
            "<url><loc>https://shop.example/about/</loc></url>",
            "<url><loc>https://shop.example/products/shoe/</loc></url>",
        ]
        assert tally.entries == 3

    def test_a_view_that_does_not_reverse_is_left_out(self):
        source = ViewSource()
        source.views = ["home", "nowhere", ("product-detail", {"slug": "a b"}), "about"]
        lines, tally = read(source)
        assert len(lines) == 2
        assert tally.skipped == 2
        assert "NoReverseMatch" in tally.problems[0]

    def test_values_are_constants_or_methods(self):
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
        class Pictured(Pages):
            news = None

            def images(self, item):
                return [f"https://cdn.example/{item}.jpg"]

        assert list(reader_of(Pages()).extensions) == []
        assert list(reader_of(Pictured()).extensions) == ["image"]
        assert "<image:loc>https://cdn.example/home.jpg" in read(Pictured())[0][0]

    def test_pages_are_positions_in_the_list(self):
        assert list(reader_of(Pages()).first_keys(2)) == ["0", "2"]
        assert len(read(Pages(), KeyRange("2", None))[0]) == 1

    def test_no_views_make_no_entries(self):
        assert list(reader_of(ViewSource()).first_keys(10)) == []
        assert read(ViewSource())[0] == []


PREFIXED = Site("default", "https://shop.example", "/app/")


def current() -> tuple[object, ...]:
    return (
        translation.get_language(),
        timezone.get_current_timezone(),
        get_urlconf(),
        get_script_prefix(),
    )


@pytest.fixture
def request_surroundings():
    """Set what middleware would have set."""
    before = get_script_prefix()
    set_urlconf("example_project.urls")
    set_script_prefix("/from-the-request/")
    with translation.override("fr"), timezone.override(ZoneInfo("Asia/Tokyo")):
        yield
    set_urlconf(None)
    set_script_prefix(before)


@pytest.mark.usefixtures("request_surroundings")
def test_surroundings_come_from_settings_and_site(settings):
    """The request goes on with what it had, also after an error."""
    before = current()
    assert before[0] == "fr"
    with surroundings(PREFIXED):
        zone = ZoneInfo(settings.TIME_ZONE)
        assert current() == ("en", zone, settings.ROOT_URLCONF, "/app/")
        assert reverse("about") == "/app/about/"
    assert current() == before
    with pytest.raises(ZeroDivisionError), surroundings(PREFIXED):
        raise ZeroDivisionError
    assert current() == before


def test_the_language_is_that_of_the_settings(settings):
    settings.LANGUAGE_CODE = "de"
    with surroundings(PREFIXED):
        assert translation.get_language() == "de"
