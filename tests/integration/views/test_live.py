"""With nothing built, index and pages are rendered on request."""

import time
from collections import Counter
from collections.abc import Callable
from datetime import date, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from django.contrib.sitemaps import GenericSitemap, Sitemap
from django.core.cache.backends import locmem
from django.db import connection
from django.db.models import F, Value
from django.db.models.functions import Concat
from django.utils import timezone

from django_sitemaps_plus import ModelSource, Route, ViewSource, planning
from django_sitemaps_plus.core import limits
from django_sitemaps_plus.sources import contrib as contrib_source
from django_sitemaps_plus.sources import reading
from tests.support.builds import build_fully
from tests.support.documents import locs, read_index
from tests.support.shop import (
    START,
    ProductSource,
    limited,
    make_products,
    product_urls,
    recreate_products,
)
from tests.support.testapp.models import Author, Book, Product, Tag

PAGE = "/sitemap-products-1.xml"
TOMORROW = timezone.now() + timedelta(days=1)
DATE = "2026-01-20T12:00:00+00:00"

#: Queries of an index for rows of ours, of which there are none.
OWN = 3


class Pages(ViewSource):
    views = ("home", "about")


class TestIndexAndPages:
    def test_all_is_there_at_once(self, sections, stock, crawl):
        stock(25)
        sections.register("pages", Pages)
        assert crawl() == {
            "/sitemap-products-1.xml": product_urls(range(10)),
            "/sitemap-products-2.xml": product_urls(range(10, 20)),
            "/sitemap-products-3.xml": product_urls(range(20, 25)),
            "/sitemap-pages-1.xml": [
                "https://example.com/",
                "https://example.com/about/",
            ],
        }

    def test_an_index_lists_no_more_pages_than_it_may(self, stock, client, monkeypatch):
        monkeypatch.setattr(limits, "MAX_ENTRIES", 2)
        stock(3, limit=1)
        assert len(read_index(client.get("/sitemap.xml").content)) == 2

    def test_an_index_and_a_page_without_entries_are_404(self, sections, crawl, client):
        """An empty document is not valid."""
        assert client.get("/sitemap.xml").status_code == 404
        sections.register(
            "none", limited(5, get_queryset=lambda _: Product.objects.none())
        )
        sections.register("nothing", Sitemap)
        for path in ("/sitemap.xml", "/sitemap-none-1.xml", "/sitemap-nothing-1.xml"):
            assert client.get(path).status_code == 404
        make_products(1)
        sections.register("products", ProductSource)
        assert list(crawl()) == [PAGE]

    @pytest.mark.parametrize("path", [PAGE, f"{PAGE}.gz", "/sitemap-products.txt"])
    def test_a_page_that_is_planned_while_it_is_asked_for(self, stock, client, path):
        """It was never gone: a crawler would forget it."""
        stock(3)
        builds = [build_fully]

        def build(execute: Any, sql: str, *rest: Any) -> Any:
            found = execute(sql, *rest)
            if "sitemaps_plus_page" in sql and builds:
                builds.pop()()
            return found

        with connection.execute_wrapper(build):
            assert client.get(path).status_code == 200
        assert not builds

    def test_a_section_may_end_like_a_page(self, sections, stock, crawl):
        """The number is what follows the last hyphen."""
        stock(3, limit=2, name="a-1")
        sections.register("a", limited(3))
        assert {path: len(found) for path, found in crawl().items()} == {
            "/sitemap-a-1-1.xml": 2,
            "/sitemap-a-1-2.xml": 1,
            "/sitemap-a-1.xml": 3,
        }


@pytest.mark.django_db(transaction=True)  # PostgreSQL counts savepoints
def test_page_1000_costs_what_page_1_costs(
    stock, client, django_assert_max_num_queries
):
    """The same few queries, none with an OFFSET; the plan is made once."""
    stock(2000, limit=2)
    with django_assert_max_num_queries(1_100) as first:
        assert len(read_index(client.get("/sitemap.xml").content)) == 1_000
    assert len(first) > 1_000
    seen = []
    for number in (1, 500, 1_000):
        with django_assert_max_num_queries(4) as queries:
            response = client.get(f"/sitemap-products-{number}.xml")
        assert len(locs(response.content)) == 2
        seen.append(len(queries))
        assert not [q for q in queries.captured_queries if "OFFSET" in q["sql"]]
    assert len(set(seen)) == 1
    with django_assert_max_num_queries(4):
        assert len(read_index(client.get("/sitemap.xml").content)) == 1_000


@pytest.mark.django_db(transaction=True)
def test_bad_rows_do_not_cost_a_query_each(
    sections, client, django_assert_max_num_queries
):
    """Each is named in the log, by one query more than a page of good rows takes."""
    products = make_products(10)
    bad = Product.objects.exclude(pk=products[0].pk)
    bad.update(slug=Concat(Value("no slug "), "slug"))
    sections.register("products", limited(10))
    client.get("/sitemap.xml")
    with django_assert_max_num_queries(5):
        assert len(locs(client.get(PAGE).content)) == 1


class TestCache:
    @pytest.mark.parametrize(
        "paths", [[PAGE], [PAGE, "/sitemap.xml"], ["/sitemap.xml", PAGE]]
    )
    def test_an_only_page_is_rendered_once(self, stock, client, configure, paths):
        configure(LIVE_CACHE_SECONDS=60)
        rendered = []
        stock(1, limit=5, location=lambda self, row: rendered.append(row) or "/here/")
        assert [client.get(path).status_code for path in paths] == [200] * len(paths)
        assert len(rendered) == 1

    def test_edits_show_at_once_without_live_cache_seconds(self, sections, client):
        make_products(1)
        sections.register("products", ProductSource)
        before = client.get(PAGE)
        Product.objects.update(updated_at=F("updated_at") + timedelta(hours=1))
        after = client.get(PAGE)
        assert b"13:00:00" in after.content
        assert before["ETag"] != after["ETag"]


@pytest.fixture
def wait(monkeypatch: Any) -> Callable[[int], None]:
    """Return what lets seconds pass for the cache."""

    def wait(seconds: int) -> None:
        later = SimpleNamespace(time=lambda: time.time() + seconds)
        monkeypatch.setattr(locmem, "time", later)

    return wait


class TestRowsThatCome:
    def test_new_pages_appear_after_plan_seconds(self, stock, crawl, wait):
        """A new row is on the last page, which is open, until there is a new plan."""
        stock(10)
        crawl()
        make_products(1, first=10)
        assert list(crawl().values()) == [product_urls(range(11))]
        wait(3_600)
        assert list(map(len, crawl().values())) == [10, 1]

    def test_rows_that_crowd_into_a_page_stay_there(self, stock, crawl, wait):
        """A crawler that has read the index finds them, until there is a new plan."""
        stock(30, key="slug")
        assert list(map(len, crawl().values())) == [8, 8, 8, 6]
        Product.objects.bulk_create([Product(slug=f"a-{n:02}") for n in range(30)])
        assert list(map(len, crawl().values())) == [38, 8, 8, 6]
        wait(3_600)
        assert list(map(len, crawl().values())) == [8, 8, 8, 8, 8, 8, 8, 4]

    def test_more_than_any_page_may_have_are_planned_afresh(
        self, stock, client, crawl, monkeypatch
    ):
        """Rows that crowd into one range make new pages at once."""
        monkeypatch.setattr(reading, "MAX_ENTRIES", 20)
        stock(30, key="slug")
        assert list(map(len, crawl().values())) == [8, 8, 8, 6]
        Product.objects.bulk_create([Product(slug=f"a-{n:02}") for n in range(30)])
        page = client.get(PAGE)
        assert locs(page.content)[0].endswith("/a-00/")
        found = crawl()
        assert list(map(len, found.values())) == [8, 8, 8, 8, 8, 8, 8, 4]
        assert len(set().union(*found.values())) == 60

    def test_rows_under_new_keys_are_all_in_the_first_crawl(self, stock, crawl):
        """Pages of the plan that is kept are empty, and it is made anew."""
        stock(30)
        crawl()
        recreate_products()
        found = crawl()
        assert list(map(len, found.values())) == [10, 10, 10]
        assert sorted(set().union(*found.values())) == product_urls(range(30))

    def test_an_empty_page_has_a_plan_made_once_a_minute(
        self, stock, client, crawl, monkeypatch, wait
    ):
        """Whoever asks for it, and whichever page of the section it is."""
        stock(30)
        crawl()
        planned, made = [], planning.bounded_plan
        monkeypatch.setattr(
            planning, "bounded_plan", lambda *args: planned.append(args) or made(*args)
        )
        Product.objects.filter(pk__in=Product.objects.order_by("pk")[:20]).update(
            slug=Concat(Value("no slug "), "slug")
        )
        paths = [f"/sitemap-products-{number}.xml" for number in (1, 2, 1, 3)]
        found = [client.get(path).status_code for path in paths]
        assert found == [404, 404, 404, 200]
        assert len(planned) == 1
        wait(61)
        assert client.get(PAGE).status_code == 404
        assert len(planned) == 2

    def test_pages_of_too_many_bytes_get_fewer_rows(
        self, stock, crawl, monkeypatch, wait
    ):
        """The limit of bytes splits pages that the limit of entries would not.

        It is remembered, or each new plan would list too few pages until one is asked
        for.
        """
        stock(30, limit=20)
        monkeypatch.setattr(limits, "MAX_BYTES", 1_500)
        crawl()  # the first look finds the pages too large
        for seconds in (0, 24 * 3_600):
            wait(seconds)
            found = crawl()
            assert sorted(set().union(*found.values())) == product_urls(range(30))
            assert max(map(len, found.values())) <= 12

    def test_the_first_index_judges_bytes_by_a_sample(self, stock, crawl, monkeypatch):
        """A crawler that has read the index finds all rows on the pages it names."""
        stock(30, limit=20)
        monkeypatch.setattr(limits, "MAX_BYTES", 1_500)
        assert sorted(set().union(*crawl().values())) == product_urls(range(30))

    def test_one_entry_that_is_too_large_is_unavailable(
        self, stock, client, monkeypatch, messages
    ):
        """No plan helps, so it ends, and the log says so."""
        stock(4, limit=4)
        monkeypatch.setattr(limits, "MAX_BYTES", 150)
        response = client.get(PAGE)
        assert response.status_code == 503
        assert response["Retry-After"] == "120"
        assert messages("live_failed")

    def test_a_row_that_joins_repeat_beyond_the_limit(self, sections, crawl):
        """The aim for a page is no reason to answer nothing."""
        author = Author.objects.create(name="a")
        for slug in ("one", "two"):
            book = Book.objects.create(author=author, slug=slug)
            book.tags.set([Tag.objects.create(name=name) for name in "abc"])

        class BookSource(ModelSource):
            model = Book
            limit = 2
            location = Route("book-detail", slug="slug")

            def get_queryset(self):
                return super().get_queryset().filter(tags__name__gte="a")

        sections.register("books", BookSource)
        urls = [f"https://example.com/books/{slug}/" for slug in ("one", "two")]
        assert list(crawl().values()) == [[url] for url in urls]


class TestLiveMaxRows:
    def test_a_larger_section_is_absent_until_it_is_built(
        self, sections, stock, crawl, client, configure, messages
    ):
        """The index leaves it out, its pages are 404, and the log says what to run."""
        configure(LIVE_MAX_ROWS=9)
        stock(11, limit=5)
        sections.register("pages", Pages)
        assert list(crawl()) == ["/sitemap-pages-1.xml"]
        assert client.get(PAGE).status_code == 404
        (message,) = messages("section_too_large")  # it is counted once
        assert "build_sitemaps products" in message
        assert "LIVE_MAX_ROWS" in message
        Product.objects.filter(slug="product-00010").delete()
        configure(LIVE_MAX_ROWS=10)
        assert len(crawl()) == 3

    def test_sitemaps_of_contrib_are_counted_too(self, sections, client, configure):
        configure(LIVE_MAX_ROWS=9)

        class Many(Sitemap):
            limit = 5

            def items(self):
                return [f"/{number}/" for number in range(11)]

            def location(self, item):
                return item

        class Own(Many):
            def get_urls(self, *args, **kwargs):
                return super().get_urls(*args, **kwargs)

        sections.register("many", Many)
        sections.register("own", Own)
        assert client.get("/sitemap.xml").status_code == 404


def in_index(client: Any) -> dict[str, str | None]:
    """Return the path and the lastmod of each page that the index lists."""
    found = read_index(client.get("/sitemap.xml").content)
    return {url.removeprefix("https://example.com"): it for url, it in found.items()}


def contrib(**attributes: Any) -> type[Sitemap]:
    def items(self: Sitemap) -> Any:
        return Product.objects.all()

    return type("ContribSitemap", (Sitemap,), {"items": items, **attributes})


class TestIndex:
    @pytest.mark.django_db(transaction=True)  # PostgreSQL counts savepoints
    def test_a_small_section_takes_one_query_and_one_of_contrib_two(
        self, sections, client, django_assert_max_num_queries
    ):
        """Even if each of its rows takes one to be rendered."""

        def location(self: Sitemap, item: Product) -> str:
            return Product.objects.get(pk=item.pk).get_absolute_url()

        make_products(30)
        for number in range(10):

            def listed(self: Any, number: int = number) -> Any:
                return Product.objects.filter(pk__gt=-number)

            def lastmod(self: Sitemap, item: Product) -> Any:
                return item.updated_at

            asked = {"items": listed, "location": location, "lastmod": lastmod}
            sections.register(f"contrib-{number}", contrib(**asked))
            declared = limited(10_000, get_queryset=listed)
            sections.register(f"products-{number}", declared)
        with django_assert_max_num_queries(OWN + 3 * 10):
            found = in_index(client)
        assert len(found) == 20
        assert None not in found.values()

    @pytest.mark.skipif(connection.vendor == "mysql", reason="no such dates")
    def test_a_lastmod_that_cannot_be_read_costs_no_page(self, sections, client):
        is_postgresql = connection.vendor == "postgresql"
        make_products(3)
        with connection.cursor() as cursor:
            cursor.execute(
                "UPDATE testapp_product SET updated_at = %s WHERE slug LIKE '%%1'",
                ["infinity" if is_postgresql else "2026-02-31 00:00:00"],
            )
        sections.register("products", ProductSource)
        assert list(in_index(client)) == [PAGE]

    @pytest.mark.django_db(transaction=True)  # PostgreSQL counts savepoints
    def test_sections_over_the_same_rows_share_their_queries(
        self, sections, client, django_assert_max_num_queries
    ):
        """Whatever their locations; but not with other values in a query."""
        make_products(30)
        for number in range(10):

            def location(self: Sitemap, item: Product, number: int = number) -> str:
                return f"/{number}{item.get_absolute_url()}"

            sections.register(f"contrib-{number}", contrib(location=location, limit=10))
            declared = Concat(Value(f"/{number}/"), "slug")
            sections.register(f"ours-{number}", limited(30, location=declared))
        for number in (5, 20):
            first = Product.objects.order_by("pk")[number]

            def items(self: Sitemap, last: int = first.pk) -> Any:
                return Product.objects.filter(pk__lt=last)

            sections.register(f"first-{number}", contrib(items=items, limit=10))
        with django_assert_max_num_queries(OWN + 16):
            listed = in_index(client)
        pages = Counter(path.rpartition("-")[0] for path in listed)
        assert pages == Counter(
            {f"/sitemap-contrib-{number}": 3 for number in range(10)}
            | {f"/sitemap-ours-{number}": 1 for number in range(10)}
            | {"/sitemap-first-5": 1, "/sitemap-first-20": 2}
        )
        page = locs(client.get("/sitemap-contrib-7-2.xml").content)
        assert page[0] == "https://example.com/7/products/product-00010/"

    def test_sections_with_images_are_planned_by_themselves(
        self, sections, client, monkeypatch
    ):
        """Fewer of their rows fit on a page."""
        make_products(30)
        monkeypatch.setattr(limits, "MAX_BYTES", 3_000)
        sections.register("products", limited(10))
        images = Value(f"https://img.example/{'x' * 900}.jpg")
        sections.register("images", limited(10, images=images))
        listed = [path.rpartition("-")[0] for path in in_index(client)]
        assert Counter(listed)["/sitemap-images"] > Counter(listed)["/sitemap-products"]

    def test_a_page_whose_rows_are_all_bad_is_listed(self, stock, client):
        """To know that it is empty takes its rendering; a build leaves it out."""
        stock(1, limit=5, location=lambda self, row: None)
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


def edit(number: int, at: datetime | None) -> None:
    Product.objects.filter(slug=f"product-{number:05}").update(updated_at=at)


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
