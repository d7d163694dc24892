"""The live index: which pages it lists, and what it says of them, unrendered."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from typing import Any

import pytest
from django.contrib.sitemaps import GenericSitemap, Sitemap
from django.utils import timezone

from django_sitemaps_plus.sources import contrib as contrib_source
from tests.support.builds import build_fully
from tests.support.documents import read_index
from tests.support.shop import START, ProductSource, limited, make_products
from tests.support.testapp.models import Product

PAGE = "/sitemap-products-1.xml"
TOMORROW = timezone.now() + timedelta(days=1)
DATE = "2026-01-20T12:00:00+00:00"

#: Queries of an index for rows of ours, of which there are none.
OWN = 3


def in_index(client: Any) -> dict[str, str | None]:
    """Return the path and the lastmod of each page that the index lists."""
    found = read_index(client.get("/sitemap.xml").content)
    return {url.removeprefix("https://example.com"): it for url, it in found.items()}


def contrib(**attributes: Any) -> type[Sitemap]:
    """Return a class of contrib that lists all products."""

    def items(self: Sitemap) -> Any:
        return Product.objects.all()

    return type("ContribSitemap", (Sitemap,), {"items": items, **attributes})


class TestPages:
    @pytest.mark.django_db(transaction=True)  # PostgreSQL counts savepoints
    def test_a_section_of_one_page_takes_three_queries(
        self, sections, client, django_assert_max_num_queries
    ):
        """Even if each of its rows takes one to be rendered."""

        def location(self: Sitemap, item: Product) -> str:
            return Product.objects.get(pk=item.pk).get_absolute_url()

        make_products(30)
        dated = contrib(location=location, lastmod=lambda self, item: item.updated_at)
        for number in range(10):
            sections.register(f"contrib-{number}", dated)
            sections.register(f"products-{number}", ProductSource)
        with django_assert_max_num_queries(OWN + 3 * 20):
            assert len(in_index(client)) == 20

    def test_a_page_whose_rows_are_all_bad_is_listed(self, sections, client):
        """To know that it is empty takes its rendering; a build leaves it out."""
        make_products(1)
        sections.register("products", limited(5, location=lambda self, row: None))
        assert list(in_index(client)) == [PAGE]
        assert client.get(PAGE).status_code == 404
        build_fully()
        assert client.get("/sitemap.xml").status_code == 404

    def test_they_are_kept_for_live_cache_seconds(
        self, sections, client, configure, django_assert_num_queries
    ):
        """Meanwhile one query sees that no index is published."""
        configure(LIVE_CACHE_SECONDS=60)
        make_products(1)
        sections.register("products", ProductSource)
        listed = in_index(client)
        with django_assert_num_queries(1):
            assert in_index(client) == listed
        sections.register("others", ProductSource)
        assert list(in_index(client)) == [PAGE, "/sitemap-others-1.xml"]


class Generic(GenericSitemap):
    """A class of contrib whose lastmod is a query of its own."""

    def __init__(self) -> None:
        rows = Product.objects.exclude(updated_at=None)
        super().__init__({"queryset": rows, "date_field": "updated_at"})


@pytest.mark.database
class TestLastmod:
    """The latest of a section of one page, where it is known without rendering."""

    @pytest.fixture(autouse=True)
    def dated(self) -> None:
        """Have four products, of which one has no date and one an older one."""
        make_products(4, updated_at=datetime.fromisoformat(DATE))
        edit(0, START)
        edit(1, None)
        Product.objects.update(created_on=date(2026, 1, 20))

    @pytest.mark.parametrize(
        ("source", "expected"),
        [
            (limited(4), DATE),
            (limited(3), None),  # of two pages
            (limited(4, lastmod=None), None),
            (limited(4, lastmod="created_on"), None),  # it has no index
            (limited(4, lastmod=lambda self, row: row.updated_at), None),
            (contrib(), None),
            (contrib(lastmod=lambda self, row: row.updated_at or START), DATE),
            (contrib(lastmod=lambda self, row: row.updated_at), None),  # of one, None
            (contrib(lastmod=datetime.fromisoformat(DATE)), DATE),
            (contrib(lastmod=date(2026, 1, 20)), "2026-01-20"),
            (contrib(lastmod=date(2026, 1, 20), limit=3), None),
            (contrib(lastmod=TOMORROW), None),
            (contrib(lastmod="yesterday"), None),
            (Generic, DATE),
        ],
    )
    def test_it_is_known_of(self, sections, client, source, expected):
        sections.register("products", source)
        assert set(in_index(client).values()) == {expected}

    def test_contrib_asks_some_items_but_not_very_many(
        self, sections, client, monkeypatch
    ):
        """Its own index asks all, however long that takes."""
        asked: list[Any] = []
        dated = contrib(lastmod=lambda self, row: asked.append(row) or START)
        sections.register("products", dated)
        monkeypatch.setattr(contrib_source, "MAX_DATED_ITEMS", 4)
        assert in_index(client) == {PAGE: START.isoformat()}
        assert len(asked) == 4
        monkeypatch.setattr(contrib_source, "MAX_DATED_ITEMS", 3)
        assert in_index(client) == {PAGE: None}
        assert len(asked) == 4

    def test_it_is_never_in_the_future(self, sections, client):
        edit(3, TOMORROW)
        sections.register("products", limited(4))
        assert in_index(client) == {PAGE: DATE}

    def test_it_is_of_no_edit_that_a_kept_page_may_lack(
        self, sections, client, configure
    ):
        """A crawler that has read that page would not come back for the edit."""
        configure(LIVE_CACHE_SECONDS=60)
        edit(3, timezone.now())
        sections.register("products", limited(4))
        assert in_index(client) == {PAGE: DATE}

    @pytest.mark.parametrize(
        "source", [limited(6), contrib(lastmod=lambda self, row: row.updated_at)]
    )
    def test_without_use_tz_it_is_in_time_zone(
        self, sections, client, settings, source
    ):
        """Which is Berlin's."""
        settings.USE_TZ = False
        Product.objects.update(updated_at=datetime.fromisoformat(DATE[:19]))
        sections.register("products", source)
        assert in_index(client) == {PAGE: DATE.replace("T12", "T11")}

    def test_its_error_costs_nothing_else(self, sections, client, messages):
        """The class of a project may raise anything."""
        broken = contrib(get_latest_lastmod=lambda self: 1 / 0)
        sections.register("broken", broken)
        sections.register("products", limited(4))
        assert in_index(client) == {"/sitemap-broken-1.xml": None, PAGE: DATE}
        assert "ZeroDivisionError" in messages("lastmod_failed")[0]


def edit(number: int, at: datetime | None) -> None:
    """Let a product have been edited at a time."""
    Product.objects.filter(slug=f"product-{number:05}").update(updated_at=at)
