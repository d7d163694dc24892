"""Pages split, merge, empty and return; their numbers mean one thing for ever."""

from __future__ import annotations

import pytest
from django.db.models import F

from django_sitemaps_plus.building.build import build
from django_sitemaps_plus.building.plan.merge import merge
from django_sitemaps_plus.building.plan.split import split_ranges
from django_sitemaps_plus.core.gzip import write_document
from django_sitemaps_plus.core.key_ranges import KeyRange
from django_sitemaps_plus.models import Section
from django_sitemaps_plus.section import open_section
from tests.support.builds import build_fully
from tests.support.documents import locs, read_index
from tests.support.shop import ProductSource, limited
from tests.support.testapp.models import Product

from .plans import (
    add,
    dirty,
    everything,
    numbers,
    objects,
    plan_of,
    replace,
    sizes,
    spread,
)

pytestmark = pytest.mark.database

ALLOW = {"allow_shrink": True}


def url(number):
    return f"/sitemap-products-{number}.xml"


def listed(client):
    """Return the numbers of the pages that the index names."""
    found = read_index(client.get("/sitemap.xml").content)
    return sorted(int(loc.rsplit("-", 1)[1].split(".")[0]) for loc in found)


def stamps(section):
    """Return when each page has last changed, for crawlers and for clients."""
    rows = section.pages.filter(state="active")
    return {page.number: (page.lastmod, page.published_at) for page in rows}


class TestSplit:
    def test_the_last_page_is_cut_at_its_end(self, publish):
        """Keys that grow fill pages to their limit, and older pages stay."""
        spread(20)
        section = publish(limited(10))
        before = objects(section)
        stamped = stamps(section)
        add(210, 220)
        build()
        assert (numbers(section), sizes(section)) == ([1, 2, 3], [10, 10, 2])
        assert before.items() <= objects(section).items()
        assert stamped.items() <= stamps(section).items()

    def test_another_page_is_halved(self, publish):
        """The new page gets the next number, whatever its place."""
        spread(30)
        section = publish(limited(10))
        add(111)
        build()
        assert sizes(section) == [10, 11, 10]  # it may grow by a tenth
        before = objects(section)
        add(112)
        build()
        assert (numbers(section), sizes(section)) == ([1, 2, 4, 3], [10, 6, 6, 10])
        after = objects(section)
        assert [n for n in before if before[n] != after[n]] == [2]

    def test_one_insert_of_many_makes_many_pieces(self, publish):
        spread(30)
        section = publish(limited(10))
        add(*range(111, 120), *range(121, 130), *range(131, 140))
        build()
        assert sum(sizes(section)) == 57
        assert max(sizes(section)) <= 11
        assert dirty(section) == []

    def test_a_dry_run_cuts_the_last_page_by_its_bytes(self, publish, monkeypatch):
        """Its end is not where it is cut: its rows are less than its limit."""
        spread(14)
        publish(OfLargeRows)
        monkeypatch.setattr(write_document, "__defaults__", (4_000,))
        (section,) = build_fully(dry_run=True).sections
        assert (section.pages > 1, section.entries) == (True, 14)

    def test_a_page_whose_rows_go_before_it_is_cut_stays_one(self, publish):
        spread(30)
        page = plan_of(publish(limited(10)))[1]
        Product.objects.filter(pk__gt=100, pk__lte=200).delete()
        ways = split_ranges(page, open_section(page.section))
        assert next(ways) == [KeyRange(page.low, page.high)]


class OfLargeRows(ProductSource):
    """Rows whose bytes fill a page long before their number does."""

    limit = 100

    def location(self, item):
        return f"/{item.slug}/{'x' * 400}"


class TestMerge:
    @pytest.fixture
    def section(self, publish):
        """Four pages of ten; then 2 and 3 shrink to two entries each."""
        spread(40)
        section = publish(limited(10))
        for product in Product.objects.filter(pk__gt=120, pk__lte=200):
            product.delete()
        for product in Product.objects.filter(pk__gt=220, pk__lte=300):
            product.delete()
        return section

    def test_two_small_neighbours_become_one(self, section, client):
        """The first keeps its number and takes the other's range.

        The other answers until it is pruned, since a crawler may hold an index that
        names it; then it is gone for ever, and nothing has its number again.
        """
        build(**ALLOW)
        assert (numbers(section), sizes(section)) == ([1, 2, 4], [10, 4, 10])
        page = section.pages.get(number=2)
        assert (page.low, page.high) == ("110", "310")
        assert dirty(section) == []
        assert locs(client.get(url(3)).content) == [
            f"https://example.com/products/p-{key}/" for key in (210, 220)
        ]
        assert listed(client) == [1, 2, 4]
        section.pages.filter(state="retired").delete()
        assert client.get(url(3)).status_code == 410
        assert client.get(url(5)).status_code == 404
        add(*range(211, 220), *range(221, 230))
        build()
        assert 3 not in numbers(section)
        build(replan=True, allow_shrink=True)
        used = list(section.pages.values_list("number", flat=True))
        assert 3 not in used
        assert len(set(used)) == len(used)

    def test_a_page_that_merges_with_an_empty_one_stays_as_it_was(self, publish):
        """Its object and its lastmod too: of what it lists nothing has changed."""
        spread(14)
        section = publish(limited(10))
        Product.objects.filter(pk__lte=60).delete()
        build()
        before, stamped = objects(section), stamps(section)
        Product.objects.filter(pk__gt=100).delete()
        build(**ALLOW)
        assert numbers(section) == [1]
        assert objects(section) == {1: before[1]}
        assert stamps(section) == {1: stamped[1]}

    def test_a_page_that_went_meanwhile_takes_in_nothing(self, section, crawl):
        Product.objects.filter(pk__gt=310, pk__lte=370).delete()
        build(**ALLOW)
        before = crawl()
        both = section.pages.with_section().filter(number__in=[3, 4])
        gone, behind = both.order_by("number")
        assert not merge(gone, behind, open_section(section))
        assert crawl() == before


class TestARaisedLimit:
    """Pages that were right for it are small by the new one."""

    @pytest.fixture
    def section(self, publish):
        """Six pages of ten, which the next build would give 60."""
        spread(60)
        section = publish(limited(10))
        replace(limited(60))
        return section

    def test_a_page_that_is_rendered_merges_with_a_neighbour(self, section, crawl):
        """As long as both together hold under half; no other page is touched."""
        urls = everything(crawl())
        before = objects(section)
        Product.objects.get(pk=250).save()
        build()
        assert (numbers(section), sizes(section)) == (
            [1, 2, 4, 5, 6],
            [10, 20] + [10] * 3,
        )
        after = objects(section)
        assert all(before[number] == after[number] for number in (1, 4, 5, 6))
        assert (everything(crawl()), dirty(section)) == (urls, [])

    def test_pages_that_a_deploy_marks_merge_all(self, section):
        """At once; and then they are left alone."""
        replace(limited(60, changefreq="daily"))
        build()
        assert sizes(section) == [20, 20, 20]
        assert build().sections[0].rendered == 0
        version = Section.objects.get(pk=section.pk).plan_version
        for key in (15, 205, 415):
            product = add(key)[0]
            build()
            product.delete()
            build()
        assert Section.objects.get(pk=section.pk).plan_version == version
        assert sizes(section) == [20, 20, 20]

    def test_a_last_page_that_grows_looks_for_no_neighbour(self, section):
        """It fills by itself, so a new row costs what it did before."""
        version = Section.objects.get(pk=section.pk).plan_version
        add(610)
        build()
        assert sizes(section) == [10, 10, 10, 10, 10, 11]
        assert Section.objects.get(pk=section.pk).plan_version == version


class TestEmptyPages:
    def test_an_empty_page_keeps_its_number_and_returns(self, publish, client):
        """It leaves the index and answers 404 meanwhile."""
        spread(30)
        section = publish(limited(10))
        Product.objects.filter(pk__gt=100, pk__lte=200).delete()
        build(**ALLOW)
        assert client.get(url(2)).status_code == 404
        assert listed(client) == [1, 3]
        assert (numbers(section), sizes(section)) == ([1, 2, 3], [10, 0, 10])
        add(150)
        build()
        assert locs(client.get(url(2)).content) == [
            "https://example.com/products/p-150/"
        ]
        assert listed(client) == [1, 2, 3]


class TestNoOscillation:
    def test_pages_that_are_full_by_their_bytes_do_not_merge(
        self, publish, monkeypatch
    ):
        """However few their entries are: the next insert would split them."""
        full = 4_000  # bytes
        spread(14)
        monkeypatch.setattr(write_document, "__defaults__", (full,))
        monkeypatch.setattr("django_sitemaps_plus.core.key_ranges.MAX_BYTES", full)
        section = publish(OfLargeRows)
        before = numbers(section)
        assert len(before) > 1
        Product.objects.get(pk=10).delete()
        build()
        assert numbers(section) == before

    @pytest.mark.urls("tests.support.urls_i18n")
    def test_pages_of_rows_that_lack_languages_do_not_merge(self, publish, settings):
        """They are full of rows, if not of entries."""
        spread(40)
        codes = ["en", "de", "fr", "it", "es"]
        settings.LANGUAGES = [(code, code) for code in codes]
        offered = {"languages": codes, "get_languages": lambda self, row: ["de"]}
        section = publish(limited(50, **offered))
        before = sizes(section)
        assert before == [10] * 4
        build_fully()
        assert sizes(section) == before

    @pytest.mark.parametrize("key", [101, 305], ids=str)
    def test_a_row_that_comes_and_goes_does_not_split_and_merge_each_time(
        self, publish, key
    ):
        """After the first split there is room."""
        spread(30)
        section = publish(limited(10))
        add(102, 196, 306)
        build()
        versions = []
        for _ in range(6):
            product = add(key)[0]
            build()
            product.delete()
            build()
            versions.append(Section.objects.get(pk=section.pk).plan_version)
        assert len(set(versions[1:])) == 1
        pages = section.pages.filter(state="active", wanted__gt=F("built"))
        assert not pages.exists()
