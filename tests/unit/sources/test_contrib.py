"""contrib's ``Sitemap`` classes, as far as they need no database."""

from __future__ import annotations

import re
from datetime import date

import pytest
from django.contrib.sitemaps import GenericSitemap, Sitemap
from django.utils.translation import get_language

from django_sitemaps_plus import News
from django_sitemaps_plus.conf import Site
from django_sitemaps_plus.core.key_ranges import KeyRange
from django_sitemaps_plus.core.limits import MAX_ENTRIES
from django_sitemaps_plus.exceptions import ConfigurationError
from django_sitemaps_plus.sites import in_force
from django_sitemaps_plus.sources import reader_of
from django_sitemaps_plus.sources.contrib import SitemapSource
from django_sitemaps_plus.sources.lines import Tally
from tests.support.testapp.models import Product

SITE = Site("default", "https://shop.example")


class Letters(Sitemap):
    def items(self):
        return ["a", "b", "c"]

    def location(self, item):
        return f"/{item}/"


def read(sitemap: object, key_range: KeyRange | None = None) -> tuple[str, Tally]:
    """Return the lines of a page."""
    source, tally = SitemapSource(sitemap), Tally("section")
    with in_force(SITE):
        return "".join(reader_of(source).chunks(key_range or KeyRange(), tally)), tally


class TestLimit:
    def test_contribs_own_is_no_choice(self):
        assert SitemapSource(Letters).limit == 10_000
        assert SitemapSource(Letters()).limit == 10_000
        sitemap = GenericSitemap({"queryset": Product.objects.all()})
        assert SitemapSource(sitemap).limit == 10_000

    def test_articles_of_news_are_a_thousand_a_page(self):
        """That is Google's limit; one of their own counts here too."""
        kind = type("Articles", (Letters,), {"news": lambda self, item: None})
        assert SitemapSource(kind).limit == 1_000
        assert reader_of(SitemapSource(kind)).max_entries == 1_000
        assert SitemapSource(type("Few", (kind,), {"limit": 7})).limit == 7

    def test_one_that_is_told_counts(self):
        class Told(Letters):
            limit = 50_000

        class Heir(Told):
            pass

        instance = Letters()
        instance.limit = 7
        assert SitemapSource(Told).limit == 50_000
        assert SitemapSource(Heir()).limit == 50_000
        assert SitemapSource(instance).limit == 7

    def test_a_row_is_an_entry_for_each_language(self):
        class Translated(Letters):
            i18n = True
            limit = 100

        assert reader_of(SitemapSource(Letters)).rows_per_page == 10_000
        assert reader_of(SitemapSource(Translated)).rows_per_page == 33


class TestTrackDeletes:
    def test_it_is_on_unless_the_class_or_the_instance_says_otherwise(self):
        class Quiet(Letters):
            track_deletes = False

        instance = Letters()
        instance.track_deletes = False
        assert SitemapSource(Letters).track_deletes is True
        assert SitemapSource(Quiet).track_deletes is False
        assert SitemapSource(Quiet()).track_deletes is False
        assert SitemapSource(instance).track_deletes is False


class TestInstances:
    def test_each_use_has_its_own(self):
        given = Letters()
        source = SitemapSource(given)
        assert source.make() is not given
        assert SitemapSource(Letters).make() is not SitemapSource(Letters).make()
        assert "limit" not in vars(given)

    def test_its_repr_names_the_class(self):
        name = f"<{__name__}.Letters>"
        assert repr(SitemapSource(Letters)) == name
        assert repr(SitemapSource(Letters())) == name


class TestOwnPaging:
    def test_a_class_that_overrides_nothing_has_none(self):
        assert not SitemapSource(Letters).has_own_paging
        assert reader_of(SitemapSource(Letters)).max_entries == 11_000

    @pytest.mark.parametrize("name", ["get_urls", "_urls", "paginator"])
    def test_a_class_that_overrides_one_of_three_has(self, name):
        source = SitemapSource(type("Own", (Letters,), {name: None}))
        assert source.has_own_paging
        assert reader_of(source).max_entries == MAX_ENTRIES
        assert list(source.extensions) == ["xhtml"]

    def test_its_own_urls_are_listed(self):
        class Own(Letters):
            def get_urls(self, page=1, site=None, protocol=None):
                url = f"{protocol}://{site.domain}/{page}/"
                yield {"location": url, "priority": "0.5", "lastmod": None}
                yield {"location": "https://cdn.example/", "changefreq": "daily"}

        text, tally = read(Own)
        assert text == (
            "<url><loc>https://shop.example/1/</loc><priority>0.5</priority></url>\n"
            "<url><loc>https://cdn.example/</loc><changefreq>daily</changefreq></url>\n"
        )
        assert tally.entries == 2


class TestDomain:
    def test_its_own_is_the_host_of_each_url(self):
        class Moved(Letters):
            i18n = True
            alternates = True
            languages = ("de",)

            def get_domain(self, site=None):
                return f"www.{site.domain}"

        text, tally = read(Moved)
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
        class Shown(Letters):
            i18n = True
            languages = ("de",)

            def images(self, item):
                return f"/{item}.png"

        assert "https://shop.example/b.png" in read(Shown)[0]

    def test_methods_of_the_user_that_take_no_item_are_left_alone(self):
        class Shown(Letters):
            def images(self):
                raise AssertionError

            @staticmethod
            def videos(item, size):
                raise AssertionError

            @staticmethod
            def news(item):
                return News(
                    name="Paper",
                    language="en",
                    publication_date=date(2026, 1, 2),
                    title=item,
                )

        text, tally = read(Shown)
        assert (tally.entries, tally.dropped) == (3, 0)
        assert text.count("<news:title>") == 3
        assert reader_of(SitemapSource(Shown)).extensions == ["news"]


class TestCallables:
    def test_each_use_has_what_a_call_makes(self):
        def make():
            letters = Letters()
            letters.limit = 2
            return letters

        source = SitemapSource(make)
        assert source.limit == 2
        assert source.make() is not source.make()
        assert read(make)[1].entries == 3

    def test_what_returns_something_else_is_named(self):
        with pytest.raises(ConfigurationError, match=r"returns <class .*Letters'>"):
            SitemapSource(lambda: Letters).make()


class TestLanguages:
    def test_a_language_that_no_crawler_reads_is_left_out_alone(self):
        class Translated(Letters):
            i18n = True
            alternates = True
            languages = ("de", "de-1996")

            def items(self):
                return ["a"]

            def location(self, item):
                return f"/{get_language()}/{item}/"

        text, tally = read(Translated)
        assert text.count('hreflang="de"') == tally.entries == 2
        assert tally.dropped == 2

    def test_items_of_many_batches_keep_their_own_languages(self):
        """Also where one has the place in memory of another that is gone."""

        class Translated(Letters):
            i18n = True
            alternates = True
            languages = ("en-us", "de")

            def items(self):
                return ([number] for number in range(700))

            def location(self, item):
                return f"/{get_language()}/{item[0]}/"

        lines = read(Translated)[0].splitlines()
        assert len(lines) == 1_400
        for number, line in enumerate(lines):
            assert line.count(f"/{number // 2}/") == 3

    def test_each_language_of_an_item_is_asked_for_once(self):
        """contrib asks once for each pair of languages."""
        asked = []

        class Translated(Letters):
            i18n = True
            alternates = True
            x_default = True
            languages = ("en-us", "de", "fr")

            def location(self, item):
                asked.append((item, get_language()))
                return f"/{get_language()}/{item}/"

        assert read(Translated)[1].entries == 9
        assert len(asked) == len(set(asked)) == 9

    @pytest.mark.parametrize("error", [LookupError("no translation"), None])
    def test_a_language_without_a_location_is_left_out(self, error):
        class Translated(Letters):
            i18n = True
            alternates = True
            languages = ("en-us", "de", "fr")

            def items(self):
                return ["a"]

            def location(self, item):
                if get_language() != "de":
                    return f"/{get_language()}/{item}/"
                if error:
                    raise error
                return None

        text, tally = read(Translated)
        assert (tally.entries, tally.skipped, tally.dropped) == (2, 1, 0)
        assert re.findall('hreflang="(.*?)"', text) == ["en-us", "fr"] * 2
