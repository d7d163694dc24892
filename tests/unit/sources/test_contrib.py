"""contrib's ``Sitemap`` classes, as far as they need no database."""

import re
from datetime import date
from pathlib import PurePosixPath
from typing import Any

import pytest
from django.contrib.sitemaps import GenericSitemap, Sitemap
from django.utils.translation import get_language

from django_sitemaps_plus import Alternate, News
from django_sitemaps_plus.conf import Site, in_force
from django_sitemaps_plus.core.key_ranges import KeyRange
from django_sitemaps_plus.core.limits import MAX_ENTRIES
from django_sitemaps_plus.exceptions import ConfigurationError
from django_sitemaps_plus.sources import reader_of
from django_sitemaps_plus.sources.contrib import SitemapSource
from django_sitemaps_plus.sources.lines import Tally
from tests.support.testapp.models import Product

SITE = Site("default", "https://shop.example")
CODES = ("en-us", "de", "fr")


class Letters(Sitemap):
    def items(self):
        return ["a", "b", "c"]

    def location(self, item):
        return f"/{item}/"


def read(sitemap: object, key_range: KeyRange | None = None) -> tuple[str, Tally]:
    source, tally = SitemapSource(sitemap), Tally("section")
    with in_force(SITE):
        return "".join(reader_of(source).chunks(key_range or KeyRange(), tally)), tally


def letters(**attributes: Any) -> type[Letters]:
    return type("Own", (Letters,), attributes)


def set_on_instance(**attributes: Any) -> Letters:
    instance = Letters()
    vars(instance).update(attributes)
    return instance


@pytest.mark.parametrize(
    ("sitemap", "limit"),
    [
        (Letters, 10_000),  # 50,000 is only what it inherits
        (Letters(), 10_000),
        (GenericSitemap({"queryset": Product.objects.all()}), 10_000),
        (letters(limit=50_000), 50_000),
        (type("Heir", (letters(limit=50_000),), {})(), 50_000),
        (set_on_instance(limit=7), 7),
        (letters(news=lambda self, item: None), 1_000),  # that of Google
        (letters(news=lambda self, item: None, limit=7), 7),
    ],
)
def test_a_limit_is_contribs_only_if_it_is_told(sitemap, limit):
    assert SitemapSource(sitemap).limit == limit


def test_a_page_has_rows_for_its_entries():
    """A row is an entry for each language; articles of news cannot be more."""
    news = letters(news=lambda self, item: None)
    assert reader_of(SitemapSource(news)).max_entries == 1_000
    translated = letters(i18n=True, limit=100)
    assert reader_of(SitemapSource(Letters)).rows_per_page == 10_000
    assert reader_of(SitemapSource(translated)).rows_per_page == 33


@pytest.mark.parametrize(
    ("sitemap", "is_on"),
    [
        (Letters, True),
        (letters(track_deletes=False), False),
        (letters(track_deletes=False)(), False),
        (set_on_instance(track_deletes=False), False),
    ],
)
def test_deletes_are_tracked_unless_class_or_instance_says_otherwise(sitemap, is_on):
    assert SitemapSource(sitemap).track_deletes is is_on


def test_each_use_has_an_instance_of_its_own():
    given = Letters()
    source = SitemapSource(given)
    assert source.make() is not given
    assert SitemapSource(Letters).make() is not SitemapSource(Letters).make()
    assert "limit" not in vars(given)


@pytest.mark.parametrize("sitemap", [Letters, Letters()])
def test_its_repr_names_the_class(sitemap):
    assert repr(SitemapSource(sitemap)) == f"<{__name__}.Letters>"


class TestOwnPaging:
    def test_a_class_that_overrides_nothing_has_none(self):
        assert not SitemapSource(Letters).has_own_paging
        assert reader_of(SitemapSource(Letters)).max_entries == 11_000

    @pytest.mark.parametrize("name", ["get_urls", "_urls", "paginator"])
    def test_a_class_that_overrides_one_of_three_has(self, name):
        source = SitemapSource(letters(**{name: None}))
        assert source.has_own_paging
        assert reader_of(source).max_entries == MAX_ENTRIES
        assert list(source.extensions) == ["xhtml"]

    def test_its_own_urls_are_listed(self):
        """Other hosts are allowed."""

        def get_urls(self, page=1, site=None, protocol=None):
            url = f"{protocol}://{site.domain}/{page}/"
            yield {"location": url, "priority": "0.5", "lastmod": None}
            yield {"location": "https://cdn.example/", "changefreq": "daily"}

        text, tally = read(letters(get_urls=get_urls))
        assert text == (
            "<url><loc>https://shop.example/1/</loc><priority>0.5</priority></url>\n"
            "<url><loc>https://cdn.example/</loc><changefreq>daily</changefreq></url>\n"
        )
        assert tally.entries == 2


def test_its_own_domain_is_the_host_of_each_url():
    """That of locations and alternates."""

    def get_domain(self, site=None):
        return f"www.{site.domain}"

    moved = letters(i18n=True, alternates=True, languages=("de",))
    moved.get_domain = get_domain
    text, tally = read(moved)
    assert tally.entries == 3
    assert text.count("<loc>https://www.shop.example/") == 3
    assert text.count('href="https://www.shop.example/') == 3


class TestExtensions:
    def test_methods_that_contrib_does_not_ask_are_used(self):
        class Shown(Letters):
            def images(self, item):
                return [f"/{item}.png", "https://cdn.example/b.png"]

            def alternates(self, item):
                return [("de", f"https://shop.example/de/{item}/")]

        text, _ = read(Shown)
        assert "<image:loc>https://shop.example/a.png</image:loc>" in text
        assert "<image:loc>https://cdn.example/b.png</image:loc>" in text
        assert 'hreflang="de" href="https://shop.example/de/c/"' in text
        assert set(reader_of(SitemapSource(Shown)).extensions) == {"image", "xhtml"}

    def test_with_languages_they_get_the_item(self):
        def images(self, item):
            return f"/{item}.png"

        shown = letters(i18n=True, languages=("de",), images=images)
        assert "https://shop.example/b.png" in read(shown)[0]

    @pytest.mark.parametrize(
        ("given", "listed"),
        [
            (lambda: {"lang_code": "fr", "location": "/fr/"}, "de en-us"),
            (lambda: [{"lang_code": "fr", "location": "/fr/"}], "de en-us"),
            (lambda: ({"lang_code": it} for it in ("fr",)), "de en-us"),
            (lambda: True, "de en-us"),
            (lambda: "fr", "de en-us"),
            (lambda: iter([("fr", "https://shop.example/fr/")]), "fr"),
            (lambda: [["fr", "https://shop.example/fr/"]], "fr"),
            (lambda: [Alternate("fr", "https://shop.example/fr/")], "fr"),
            (lambda: None, ""),
        ],
    )
    def test_alternates_that_are_for_a_template_leave_those_of_contrib(
        self, given, listed
    ):
        """For contrib, a method of this name is as good as True."""
        shown = in_languages("de", "en-us", alternates=lambda self, item: given())
        text, tally = read(shown)
        assert re.findall('hreflang="(.*?)"', text) == listed.split() * 2
        assert (tally.entries, tally.dropped) == (2, 0)

    def test_methods_of_the_user_that_take_no_item_are_left_alone(self):
        class Shown(Letters):
            def images(self):
                raise AssertionError

            @staticmethod
            def videos(item, size):
                raise AssertionError

            @staticmethod
            def news(item):
                day = date(2026, 1, 2)
                return News(name="P", language="en", publication_date=day, title=item)

        text, tally = read(Shown)
        assert (tally.entries, tally.dropped) == (3, 0)
        assert text.count("<news:title>") == 3
        assert reader_of(SitemapSource(Shown)).extensions == ["news"]


class TestCallables:
    def test_each_use_has_what_a_call_makes(self):
        def make():
            return set_on_instance(limit=2)

        source = SitemapSource(make)
        assert source.limit == 2
        assert source.make() is not source.make()
        assert read(make)[1].entries == 3

    def test_what_returns_something_else_is_named(self):
        with pytest.raises(ConfigurationError, match=r"returns <class .*Letters'>"):
            SitemapSource(lambda: Letters).make()


def in_languages(*codes: str, items: Any = ("a",), **attributes: Any) -> type[Letters]:
    """Return a class whose items have a path in each language."""

    def location(self, item):
        return f"/{get_language()}/{item}/"

    own = {"location": location, "items": lambda self: items, "alternates": True}
    return letters(i18n=True, languages=codes, **own | attributes)


class TestLanguages:
    def test_a_language_that_no_crawler_reads_is_left_out_alone(self):
        """Its own entry stays, and so do the links to the others."""
        text, tally = read(in_languages("de", "de-1996"))
        assert text.count('hreflang="de"') == tally.entries == 2
        assert tally.dropped == 2

    def test_items_of_many_batches_keep_their_own_languages(self):
        """Also where one has the place in memory of another that is gone."""

        def location(self, item):
            return f"/{get_language()}/{item[0]}/"

        items = ([number] for number in range(700))
        kind = in_languages(*CODES[:2], items=items, location=location)
        lines = read(kind)[0]
        assert lines.count("\n") == 1_400
        for number, line in enumerate(lines.splitlines()):
            assert line.count(f"/{number // 2}/") == 3

    def test_links_are_the_texts_of_paths_too(self):
        """As contrib formats them; a library for URLs has its own class."""

        def location(self, item):
            return PurePosixPath("/", get_language(), item)

        text, tally = read(in_languages("de", "fr", location=location))
        assert re.findall('href="(.*?)"', text)[:2] == re.findall("<loc>(.*?)<", text)
        assert (text.count("<xhtml:link"), tally.entries, tally.dropped) == (4, 2, 0)

    def test_each_language_of_an_item_is_asked_for_once(self):
        """contrib asks once for each pair of languages."""
        asked = []

        def location(self, item):
            asked.append((item, get_language()))
            return f"/{get_language()}/{item}/"

        own = {"items": "abc", "location": location, "x_default": True}
        assert read(in_languages(*CODES, **own))[1].entries == 9
        assert len(asked) == len(set(asked)) == 9

    @pytest.mark.parametrize("error", [LookupError("no translation"), None])
    def test_a_language_without_a_location_is_left_out(self, error):
        """The entries of the other languages stay, and name each other alone."""

        def location(self, item):
            if get_language() != "de":
                return f"/{get_language()}/{item}/"
            if error:
                raise error
            return None

        text, tally = read(in_languages(*CODES, location=location))
        assert (tally.entries, tally.skipped, tally.dropped) == (2, 1, 0)
        assert re.findall('hreflang="(.*?)"', text) == ["en-us", "fr"] * 2
