"""Text sitemaps, RSS and Atom of what is served."""

from calendar import timegm
from datetime import timedelta
from typing import Any

import pytest
from django.test import override_settings
from protego import Protego

from django_sitemaps_plus import Image, News, Video
from django_sitemaps_plus.conf import get_settings
from django_sitemaps_plus.models import Page
from django_sitemaps_plus.serving import feeds, single_flight
from tests.support.builds import build_fully
from tests.support.documents import locs
from tests.support.faults import fail_open
from tests.support.formats import feed, text, urls_of
from tests.support.shop import (
    START,
    ProductSource,
    limited,
    make_products,
    product_urls,
)
from tests.support.testapp.models import Product

ORIGIN = "https://example.com"
FEEDS = ["/sitemap-products.rss", "/sitemap-products.atom"]
PATHS = ["/sitemap-products-2.txt", *FEEDS]
HUB = "https://hub.example/"


class TestAll:
    @pytest.mark.parametrize("path", PATHS)
    def test_the_same_entries_give_the_same_bytes(self, served, client, path):
        """However often they are rendered; another entry gives another ETag."""
        first, again = client.get(path), client.get(path)
        assert (first.content, first["ETag"]) == (again.content, again["ETag"])
        Product.objects.filter(slug__endswith="14").update(
            slug="new", updated_at=START + timedelta(days=1)
        )
        build_fully()
        changed = client.get(path, headers={"If-None-Match": first["ETag"]})
        assert changed.status_code == 200
        assert b"/products/new/" in changed.content

    def test_a_page_without_entries_is_404_as_in_xml(self, sections, shop, client):
        """Also where nobody knows its section any more."""
        shop(1, limit=5)
        Page.objects.of("default", "products").update(object="")
        sections.unregister("products")
        for suffix in ("xml", "txt"):
            assert client.get(f"/sitemap-products-1.{suffix}").status_code == 404

    @pytest.mark.parametrize("path", [*PATHS, "/sitemap-products.txt"])
    def test_the_cache_and_the_storage_may_be_away(
        self, shop, client, monkeypatch, settings, path
    ):
        shop(3, limit=2 if "-2" in path else 5)
        before = client.get(path).content
        fail_open(monkeypatch)
        settings.CACHES = {"default": {"BACKEND": "tests.no.such.Cache"}}
        after = client.get(path)
        assert (after.status_code, after.content) == (200, before)


class TestText:
    def test_it_lists_what_the_page_lists(self, served, client):
        for number, slugs in ((1, range(10)), (2, range(10, 15))):
            path = f"/sitemap-products-{number}"
            assert text(client, f"{path}.txt") == product_urls(slugs)
            assert locs(client.get(f"{path}.xml").content) == product_urls(slugs)

    @pytest.mark.parametrize("is_built", [False, True])
    def test_a_section_of_one_page_has_one_file(
        self, sections, stock, client, is_built
    ):
        """One of several has none, since it would not be complete."""
        stock(3, limit=3, name="one")
        sections.register("two", limited(2))
        if is_built:
            build_fully()
        assert text(client, "/sitemap-one.txt") == product_urls(range(3))
        with override_settings(DEBUG=True):
            missing = client.get("/sitemap-two.txt")
        assert missing.status_code == 404
        assert b"several pages, such as /sitemap-two-1.txt" in missing.content
        assert text(client, "/sitemap-two-2.txt") == product_urls([2])

    def test_a_page_that_is_gone_is_410(self, shop, client):
        shop(15)
        Page.objects.filter(section__name="products", number=2).delete()
        assert client.get("/sitemap-products-2.txt").status_code == 410

    def test_names_of_sections_may_look_like_pages_and_files(
        self, sections, stock, client
    ):
        """The longest name of a section that there is counts."""
        stock(3, limit=1, name="a")
        sections.register("a-1", limited(5))
        sections.register("größe.txt", limited(5))
        assert text(client, "/sitemap-a-2.txt") == product_urls([1])
        assert text(client, "/sitemap-a-1.txt") == product_urls(range(3))
        assert text(client, "/sitemap-a-1-1.txt") == product_urls(range(3))
        assert len(text(client, "/sitemap-gr%C3%B6%C3%9Fe.txt.txt")) == 3
        assert client.get("/sitemap-größe.txt.txt.gz").status_code == 200
        assert len(urls_of(client, "/sitemap-a-1.rss")) == 3


@pytest.mark.urls("tests.support.urls_i18n")
def test_each_language_of_a_row_is_listed(stock, client, settings):
    settings.LANGUAGES = [("en-us", "English"), ("de", "Deutsch")]
    stock(2, languages="all")
    expected = locs(client.get("/sitemap-products-1.xml").content)
    assert len(expected) == 4
    for path in ["/sitemap-products.txt", *FEEDS]:
        found = text(client, path) if path.endswith("txt") else urls_of(client, path)
        assert sorted(found) == sorted(expected)


def test_robots_txt_may_name_them(client, configure):
    """Another's parser finds them beside the index."""
    urls = [f"{ORIGIN}{path}" for path in PATHS]
    configure(ROBOTS={"SITEMAPS": urls})
    robots = Protego.parse(client.get("/robots.txt").content.decode())
    assert list(robots.sitemaps) == [f"{ORIGIN}/sitemap.xml", *urls]
    assert all(robots.can_fetch(url, "Googlebot") for url in urls)


class TestFeeds:
    @pytest.mark.parametrize("path", FEEDS)
    def test_the_newest_rows_come_first(self, served, client, monkeypatch, path):
        """From all pages, with their dates; as many as a feed may have."""
        monkeypatch.setattr(feeds, "MAX_ITEMS", 4)
        edited = START + timedelta(days=1)
        Product.objects.filter(slug="product-00002").update(updated_at=edited)
        found = feed(client, path)
        assert [it.link for it in found.entries] == product_urls([2, 14, 13, 12])
        date = "published_parsed" if path.endswith("rss") else "updated_parsed"
        moments = [it[date] for it in found.entries]
        assert timegm(moments[0]) == edited.timestamp()
        assert found.feed.links[-1].href == f"{ORIGIN}{path}"
        assert found.feed.get("id", f"{ORIGIN}{path}") == f"{ORIGIN}{path}"
        assert [it.title for it in found.entries] == product_urls([2, 14, 13, 12])

    @pytest.mark.parametrize("is_built", [False, True])
    @pytest.mark.parametrize("path", FEEDS)
    def test_without_an_index_the_last_page_counts(
        self, sections, client, path, is_built
    ):
        make_products(5)
        by_code = limited(3, lastmod=lambda self, row: row.updated_at)
        sections.register("products", by_code)
        if is_built:
            build_fully()
        assert urls_of(client, path) == product_urls([4, 3])

    @pytest.mark.parametrize(
        "lastmod", ["updated_at", lambda self, row: row.updated_at]
    )
    def test_entries_without_a_date_are_left_out(
        self, sections, stock, client, lastmod
    ):
        """Where none has one, there is no feed."""
        stock(3, limit=5, lastmod=lastmod)
        Product.objects.filter(slug__endswith="1").update(updated_at=None)
        for path in FEEDS:
            assert urls_of(client, path) == product_urls([2, 0])
        Product.objects.update(updated_at=None)
        sections.register("others", limited(5, lastmod=lastmod))
        sections.register("undated", limited(5, lastmod=None))
        for name in ("others", "undated"):
            assert client.get(f"/sitemap-{name}.atom").status_code == 404

    def test_a_bad_row_costs_itself(self, sections, client, messages):
        """The log has it by the page, not by each feed that is polled."""

        def location(self: Any, row: Any) -> str:
            return "https://elsewhere.example/" if row.pk % 2 else f"/{row.slug}/"

        odd = limited(5, location=location)
        make_products(4)
        sections.register("products", odd)
        assert len(urls_of(client, FEEDS[0])) == 2
        assert not messages("row_skipped")

    @pytest.mark.database
    @pytest.mark.parametrize("path", FEEDS)
    def test_rows_of_one_date_are_always_the_same(
        self, sections, client, monkeypatch, path
    ):
        """Those with the highest keys, as after an import."""
        monkeypatch.setattr(feeds, "MAX_ITEMS", 2)
        make_products(5, updated_at=START)
        sections.register("products", ProductSource)
        assert set(urls_of(client, path)) == set(product_urls([3, 4]))

    def test_a_hub_that_is_notified_finds_the_change(
        self, served, client, monkeypatch, configure
    ):
        """So a feed is kept no longer than the delay of notifications."""
        configure(LIVE_CACHE_SECONDS=60)
        kept = []
        monkeypatch.setattr(single_flight, "remember", lambda *it: kept.append(it[-1]))
        assert client.get(FEEDS[0]).status_code == 200
        assert kept[-1:] == [get_settings().notify_delay_seconds]


class TestExtensions:
    @pytest.fixture(autouse=True)
    def rich(self, sections: Any) -> None:
        make_products(1)
        video = Video(
            thumbnail_loc="https://cdn.example/t.jpg",
            title="How <to> & why",
            description="In two minutes",
            content_loc="https://cdn.example/v.mp4?a=1&b=2",
            player_loc="https://play.example/1",
            duration=120,
        )
        news = News(
            name="The Shop",
            language="en",
            publication_date=START,
            title="Lamps & <more>",
        )
        images = [Image("https://cdn.example/1.jpg"), "https://cdn.example/2.jpg"]
        rich = limited(
            5,
            images=lambda self, row: images,
            videos=lambda self, row: video,
            news=lambda self, row: news,
        )
        sections.register("products", rich)

    @pytest.mark.parametrize("path", FEEDS)
    def test_news_have_their_title(self, client, path):
        (entry,) = feed(client, path).entries
        assert entry.title == "Lamps & <more>"

    def test_rss_has_images_and_videos(self, client):
        """As Media RSS, which search engines read."""
        (entry,) = feed(client, "/sitemap-products.rss").entries
        assert [dict(it) for it in entry.media_content] == [
            {"url": "https://cdn.example/1.jpg", "medium": "image"},
            {"url": "https://cdn.example/2.jpg", "medium": "image"},
            {
                "url": "https://cdn.example/v.mp4?a=1&b=2",
                "medium": "video",
                "duration": "120",
            },
        ]
        assert entry.media_thumbnail == [{"url": "https://cdn.example/t.jpg"}]
        assert entry.media_player["url"] == "https://play.example/1"


class TestHubs:
    @pytest.fixture
    def set_hub(self, shop: Any, configure: Any) -> Any:
        """Have one section; return what adds a hub with options."""
        shop(1)

        def set_hub(**options: Any) -> None:
            backend = "django_sitemaps_plus.notifications.WebSub"
            hub = {"BACKEND": backend, "OPTIONS": {"hub": HUB, **options}}
            configure(ENGINES={"hub": hub})

        return set_hub

    @pytest.mark.parametrize("path", FEEDS)
    def test_a_feed_names_its_hub_and_itself(self, client, set_hub, path):
        """In the document and in headers, also of HEAD and of the gzip file."""
        assert "Link" not in client.get(path).headers
        set_hub()
        links = {it.rel: it.href for it in feed(client, path).feed.links}
        assert (links["hub"], links["self"]) == (HUB, ORIGIN + path)
        expected = f'<{HUB}>; rel="hub", <{ORIGIN}{path}>; rel="self"'
        for response in (client.get(path), client.head(path), client.get(f"{path}.gz")):
            assert response["Link"] == expected

    def test_no_cache_gives_a_hub_the_copy_of_before(self, client, set_hub):
        """What keeps it asks each time, also after a 304."""
        set_hub()
        found = client.get(FEEDS[0])
        again = client.get(FEEDS[0], headers={"if-none-match": found["ETag"]})
        assert again.status_code == 304
        assert found["Cache-Control"] == again["Cache-Control"] == "no-cache"

    def test_one_that_is_not_notified_of_it_is_not_named(self, client, set_hub):
        set_hub(topics=[f"{ORIGIN}/sitemap-products.atom"])
        assert "Link" in client.get("/sitemap-products.atom").headers
        assert "Link" not in client.get("/sitemap-products.rss").headers
