"""HISTORIC_LIMITS: pages and indexes for consumers that know only the old limits."""

from __future__ import annotations

from typing import Any

import pytest

from django_sitemaps_plus import planning, rendering, site_urls
from django_sitemaps_plus.building.build import build
from django_sitemaps_plus.building.plan import replan
from django_sitemaps_plus.conf import get_site
from django_sitemaps_plus.core import key_ranges
from django_sitemaps_plus.models import pages
from tests.support.documents import read_index
from tests.support.shop import limited, make_products, product_urls
from tests.support.testapp.models import Product

from .plans import everything, numbers, plan_of, sizes, spread

pytestmark = pytest.mark.database

SOME_BYTES = 1_000


@pytest.fixture
def small_limits(monkeypatch: Any) -> None:
    for module in (planning, rendering, key_ranges):
        monkeypatch.setattr(module, "HISTORIC_BYTES", SOME_BYTES)
    for module in (replan, pages, site_urls):
        monkeypatch.setattr(module, "HISTORIC_SITEMAPS", 3)


def listed(client: Any) -> list[list[str]]:
    """Return the URLs of pages that the first index lists, and the second."""
    answers = [client.get(f"/{name}.xml") for name in ("sitemap", "sitemaps-2")]
    return [list(read_index(it.content)) for it in answers if it.status_code == 200]


class TestBytes:
    def test_a_page_of_more_splits_once_they_are_on(
        self, publish, configure, small_limits
    ):
        """By the next build, which needs no option."""
        spread(30)
        section = publish(limited(100))
        assert sizes(section) == [30]
        configure(HISTORIC_LIMITS=True)
        build()
        largest = max(page.plain_size for page in plan_of(section))
        assert SOME_BYTES // 2 < largest <= SOME_BYTES
        assert sum(sizes(section)) == 30

    def test_a_first_plan_keeps_them(self, publish, configure, small_limits):
        """No page is rendered for nothing, and then split."""
        configure(HISTORIC_LIMITS=True)
        spread(30)
        section = publish(limited(20))
        assert numbers(section) == list(range(1, len(sizes(section)) + 1))
        assert sizes(section)[0] < 20
        assert len({*sizes(section)[:-1]}) == 1

    def test_pages_that_are_half_full_by_them_do_not_merge(
        self, publish, configure, small_limits
    ):
        """However few their entries are: soon they would split again."""
        configure(HISTORIC_LIMITS=True)
        spread(30)
        section = publish(limited(100))
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
        (whole,) = listed(client)
        configure(HISTORIC_LIMITS=True)
        build()
        assert listed(client) == [whole[:3], whole[3:]]
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
        assert [len(urls) for urls in listed(client)] == [3]
