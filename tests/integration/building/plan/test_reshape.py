"""Pages are cut, split, merge, empty and return; their numbers mean one thing."""

from __future__ import annotations

import uuid
from typing import Any

import pytest
from django.db import models
from django.test.utils import isolate_apps

from django_sitemaps_plus import site_urls
from django_sitemaps_plus.building.build import build
from django_sitemaps_plus.building.plan.merge import merge
from django_sitemaps_plus.building.plan.split import split, split_ranges
from django_sitemaps_plus.conf import get_site
from django_sitemaps_plus.core import limits
from django_sitemaps_plus.core.key_ranges import KeyRange
from django_sitemaps_plus.models import Page, Section
from django_sitemaps_plus.section import open_section
from django_sitemaps_plus.sources.keys import KeySpace
from tests.support.builds import build_fully
from tests.support.documents import locs, read_index
from tests.support.shop import ProductSource, limited, make_products, product_urls
from tests.support.testapp.models import Product, Shop

from .plans import (
    add,
    dirty,
    everything,
    numbers,
    objects,
    of_shops,
    plan_of,
    replace,
    sizes,
    spread,
)

pytestmark = pytest.mark.database


SOME_BYTES = 1_000


@pytest.fixture
def small_limits(monkeypatch: Any) -> None:
    monkeypatch.setattr(limits, "HISTORIC_BYTES", SOME_BYTES)
    monkeypatch.setattr(limits, "HISTORIC_SITEMAPS", 3)


def shops(count):
    Shop.objects.bulk_create([Shop(pk=uuid.UUID(int=n << 100)) for n in range(count)])


class TestFirstPlans:
    def test_uuids_leave_room_for_random_inserts(self, publish):
        """A page splits above its limit and a tenth, no sooner; others stay."""
        shops(25)
        section = publish(of_shops(10))
        assert sizes(section) == [8, 8, 8, 1]  # four fifths of what a page should hold
        before = objects(section)
        found = []
        for number in range(1, 5):
            Shop.objects.create(pk=uuid.UUID(int=number))
            build()
            found.append(sizes(section))
        assert found == [
            [9, 8, 8, 1],
            [10, 8, 8, 1],
            [11, 8, 8, 1],
            [6, 6, 8, 8, 1],
        ]
        assert {n: before[n] for n in (2, 3, 4)}.items() <= objects(section).items()

    @pytest.mark.parametrize("is_historic", [False, True])
    def test_pages_of_many_bytes_get_fewer_rows(
        self, spaced, monkeypatch, configure, small_limits, is_historic
    ):
        """None is rendered for nothing, and then split, as with many languages."""
        configure(HISTORIC_LIMITS=is_historic)
        if not is_historic:
            monkeypatch.setattr(limits, "MAX_BYTES", SOME_BYTES)
        section = spaced(30, limit=20)
        assert numbers(section) == list(range(1, len(sizes(section)) + 1))
        assert sizes(section)[0] < 20
        assert len({*sizes(section)[:-1]}) == 1
        assert sum(sizes(section)) == 30

    def test_a_limit_of_one_is_a_row_a_page(self, publish):
        shops(3)
        assert sizes(publish(of_shops(1))) == [1, 1, 1]

    def test_live_and_stored_pages_have_the_same_numbers(self, sections, crawl):
        shops(25)
        sections.register("shops", of_shops(10))
        live = crawl()
        assert len(live) == 4
        build()
        assert crawl() == live


def uuid7():
    """Stand for the function of this name that newer Pythons have."""
    return uuid.uuid4()


@pytest.mark.parametrize(
    ("field", "grows"),
    [
        (models.BigAutoField(primary_key=True), True),
        (models.PositiveIntegerField(primary_key=True), True),
        (models.UUIDField(primary_key=True, default=uuid.uuid4), False),
        (models.UUIDField(primary_key=True, default=uuid7), True),
        (models.UUIDField(primary_key=True), False),
        (models.CharField(max_length=9, primary_key=True), False),
    ],
)
@isolate_apps("tests.support.testapp")
def test_the_field_tells_whether_keys_grow(field, grows):
    """Its type, and for UUIDs the function that makes them."""
    meta = type("Meta", (), {"app_label": "testapp"})
    body = {"__module__": __name__, "Meta": meta, "code": field.clone()}
    model = type("Grown", (models.Model,), body)
    assert KeySpace(model, "pk", "default").grows is grows


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
    def test_the_last_page_is_cut_at_its_end(self, spaced):
        """Keys that grow fill pages to their limit, and older pages stay."""
        section = spaced(20)
        before = objects(section)
        stamped = stamps(section)
        add(210, 220)
        build()
        assert (numbers(section), sizes(section)) == ([1, 2, 3], [10, 10, 2])
        assert before.items() <= objects(section).items()
        assert stamped.items() <= stamps(section).items()

    def test_another_page_is_halved(self, spaced):
        """The new page gets the next number, whatever its place."""
        section = spaced(30)
        add(111)
        build()
        assert sizes(section) == [10, 11, 10]  # it may grow by a tenth
        before = objects(section)
        add(112)
        build()
        assert (numbers(section), sizes(section)) == ([1, 2, 4, 3], [10, 6, 6, 10])
        after = objects(section)
        assert [n for n in before if before[n] != after[n]] == [2]

    def test_a_dry_run_cuts_the_last_page_by_its_bytes(self, publish, monkeypatch):
        """Its end is not where it is cut: its rows are less than its limit."""
        spread(14)
        publish(OfLargeRows)
        monkeypatch.setattr(limits, "MAX_BYTES", 4_000)
        (section,) = build_fully(dry_run=True).sections
        assert (section.pages > 1, section.entries) == (True, 14)

    def test_a_page_whose_rows_go_before_it_is_cut_stays_one(self, publish):
        spread(30)
        page = plan_of(publish(limited(10)))[1]
        Product.objects.filter(pk__gt=100, pk__lte=200).delete()
        ways = split_ranges(page, open_section(page.section))
        assert next(ways) == [KeyRange(page.low, page.high)]

    def test_a_page_whose_plan_was_replaced_meanwhile_is_not_cut(self, publish):
        """Its pieces would list what the new plan lists."""
        spread(30)
        section = publish(limited(10))
        page = plan_of(section)[1]
        replace(limited(7))
        build(replan=True)
        replace(limited(5))
        # As if it had been claimed just before.
        Page.objects.filter(pk=page.pk).update(token="a", wanted=9)
        page.token, page.wanted = "a", 9
        assert split(page, open_section(page.section)) == []
        assert sizes(section) == [7, 7, 7, 7, 2]


class OfLargeRows(ProductSource):
    """Rows whose bytes fill a page long before their number does."""

    limit = 100

    def location(self, item):
        return f"/{item.slug}/{'x' * 400}"


class TestMerge:
    @pytest.fixture
    def section(self, spaced):
        """Four pages of ten; then 2 and 3 shrink to two entries each."""
        section = spaced(40)
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
        build(allow_shrink=True)
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

    def test_a_page_that_merges_with_an_empty_one_stays_as_it_was(self, spaced):
        """Its object and its lastmod too: of what it lists nothing has changed."""
        section = spaced(14)
        Product.objects.filter(pk__lte=60).delete()
        build()
        before, stamped = objects(section), stamps(section)
        Product.objects.filter(pk__gt=100).delete()
        build(allow_shrink=True)
        assert numbers(section) == [1]
        assert objects(section) == {1: before[1]}
        assert stamps(section) == {1: stamped[1]}

    def test_a_page_that_went_meanwhile_takes_in_nothing(self, section, crawl):
        Product.objects.filter(pk__gt=310, pk__lte=370).delete()
        build(allow_shrink=True)
        before = crawl()
        both = section.pages.with_section().filter(number__in=[3, 4])
        gone, behind = both.order_by("number")
        assert not merge(gone, behind, open_section(section))
        assert crawl() == before


class TestARaisedLimit:
    """Pages that were right for it are small by the new one."""

    @pytest.fixture
    def section(self, spaced):
        """Six pages of ten, which the next build would give 60."""
        section = spaced(60)
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
    def test_an_empty_page_keeps_its_number_and_returns(self, spaced, client):
        """It leaves the index and answers 404 meanwhile."""
        section = spaced(30)
        Product.objects.filter(pk__gt=100, pk__lte=200).delete()
        build(allow_shrink=True)
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
        monkeypatch.setattr(limits, "MAX_BYTES", full)
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


def on_indexes(client: Any) -> list[list[str]]:
    """Return the URLs of pages that the first index lists, and the second."""
    answers = [client.get(f"/{name}.xml") for name in ("sitemap", "sitemaps-2")]
    return [list(read_index(it.content)) for it in answers if it.status_code == 200]


class TestHistoricLimits:
    """Pages and indexes for consumers that know only the old limits."""

    def test_a_page_of_more_splits_once_they_are_on(
        self, spaced, configure, small_limits
    ):
        """By the next build, which needs no option."""
        section = spaced(30, limit=100)
        assert sizes(section) == [30]
        configure(HISTORIC_LIMITS=True)
        build()
        largest = max(page.plain_size for page in plan_of(section))
        assert SOME_BYTES // 2 < largest <= SOME_BYTES
        assert sum(sizes(section)) == 30

    def test_pages_that_are_half_full_by_them_do_not_merge(
        self, spaced, configure, small_limits
    ):
        """However few their entries are: soon they would split again."""
        configure(HISTORIC_LIMITS=True)
        section = spaced(30, limit=100)
        first = plan_of(section)[0]
        assert first.high is not None
        bound = int(first.high)
        Product.objects.exclude(pk__gte=bound - 30, pk__lt=bound + 30).delete()
        build(allow_shrink=True)
        assert [page.entries for page in plan_of(section)[:2]] == [3, 3]

    def test_live_pages_keep_them(self, sections, crawl, configure, small_limits):
        """Also when a plan without them was made a moment before."""
        make_products(20)
        sections.register("products", limited(15))
        assert list(map(len, crawl().values())) == [15, 5]
        configure(HISTORIC_LIMITS=True)
        found = crawl()
        assert everything(found) == product_urls(range(20))
        assert max(map(len, found.values())) < 15


class TestSitemapsOfAnIndex:
    def test_more_pages_than_one_may_list_make_another_once_they_are_on(
        self, publish, client, configure, small_limits
    ):
        """By the next build, though no page has changed."""
        make_products(5)
        publish(limited(1))
        (whole,) = on_indexes(client)
        configure(HISTORIC_LIMITS=True)
        build()
        assert on_indexes(client) == [whole[:3], whole[3:]]
        assert site_urls.index_urls(get_site()) == [
            f"https://example.com/{name}.xml" for name in ("sitemap", "sitemaps-2")
        ]

    def test_a_live_index_lists_no_more(
        self, sections, client, configure, small_limits
    ):
        """As ever: further indexes need a build."""
        configure(HISTORIC_LIMITS=True)
        make_products(5)
        sections.register("products", limited(1))
        assert [len(urls) for urls in on_indexes(client)] == [3]
