"""Text sitemaps, and what they have in common with feeds: headers, codings, faults."""

from __future__ import annotations

import gzip
from datetime import timedelta

import pytest
from django.test import override_settings
from protego import Protego

from django_sitemaps_plus.models import Page
from tests.support.builds import build_fully
from tests.support.documents import locs
from tests.support.faults import fail_open
from tests.support.formats import text, urls_of
from tests.support.shop import START, limited, make_products, product_urls
from tests.support.testapp.models import Product

ORIGIN = "https://example.com"
TYPES = {
    "/sitemap-products-2.txt": "text/plain; charset=utf-8",
    "/sitemap-products.rss": "application/rss+xml; charset=utf-8",
    "/sitemap-products.atom": "application/atom+xml; charset=utf-8",
}


class TestHttp:
    @pytest.mark.parametrize("path", TYPES)
    def test_they_have_true_validators_and_a_gzip_file(self, served, client, path):
        """Nothing is said twice: who has the bytes gets a 304, HEAD no bytes."""
        plain, packed = client.get(path), client.get(f"{path}.gz")
        assert plain["Content-Type"] == TYPES[path]
        assert packed["Content-Type"] == "application/gzip"
        assert gzip.decompress(packed.content) == plain.content
        assert packed["ETag"] != plain["ETag"]
        for found, url in ((plain, path), (packed, f"{path}.gz")):
            head = client.head(url)
            assert (head.content, head["ETag"]) == (b"", found["ETag"])
            assert head["Content-Length"] == str(len(found.content))
            assert found["X-Robots-Tag"] == "noindex"
            known = {"If-None-Match": found["ETag"]}
            assert client.get(url, headers=known).status_code == 304
            assert client.post(url).status_code == 405

    @pytest.mark.parametrize("path", TYPES)
    def test_the_same_entries_give_the_same_bytes(self, served, client, path, settings):
        """However often they are rendered; another entry gives another ETag."""
        settings.SITEMAPS_PLUS = {"BASE_URL": ORIGIN, "LIVE_CACHE_SECONDS": 0}
        first, again = client.get(path), client.get(path)
        assert (first.content, first["ETag"]) == (again.content, again["ETag"])
        Product.objects.filter(slug__endswith="14").update(
            slug="new", updated_at=START + timedelta(days=1)
        )
        build_fully()
        changed = client.get(path, headers={"If-None-Match": first["ETag"]})
        assert changed.status_code == 200
        assert b"/products/new/" in changed.content

    def test_a_page_without_entries_is_404_as_in_xml(self, sections, client):
        """Also where nobody knows its section any more."""
        make_products(1)
        sections.register("products", limited(5))
        build_fully()
        Page.objects.of("default", "products").update(object="")
        sections.unregister("products")
        for suffix in ("xml", "txt"):
            assert client.get(f"/sitemap-products-1.{suffix}").status_code == 404

    @pytest.mark.parametrize("path", [*TYPES, "/sitemap-products.txt"])
    def test_the_cache_and_the_storage_may_be_away(
        self, sections, client, monkeypatch, settings, path
    ):
        make_products(3)
        sections.register("products", limited(2 if "-2" in path else 5))
        build_fully()
        before = client.get(path).content
        fail_open(monkeypatch)
        settings.CACHES = {"default": {"BACKEND": "tests.no.such.Cache"}}
        after = client.get(path)
        assert (after.status_code, after.content) == (200, before)

    @pytest.mark.parametrize("path", TYPES)
    def test_a_source_that_fails_is_a_503(self, sections, client, path):
        sections.register("products", limited(2, get_queryset=lambda self: 1 / 0))
        response = client.get(path)
        assert (response.status_code, response["Retry-After"]) == (503, "120")

    @pytest.mark.parametrize("end", ["-1.txt", ".txt", ".rss", ".atom", ".xml.rss"])
    def test_an_unknown_section_is_a_404(self, served, client, end):
        assert client.get(f"/sitemap-unknown{end}").status_code == 404


class TestText:
    def test_it_lists_what_the_page_lists(self, served, client):
        for number, slugs in ((1, range(10)), (2, range(10, 15))):
            path = f"/sitemap-products-{number}"
            assert text(client, f"{path}.txt") == product_urls(slugs)
            assert locs(client.get(f"{path}.xml").content) == product_urls(slugs)

    @pytest.mark.parametrize("is_built", [False, True])
    def test_a_section_of_one_page_has_one_file(self, sections, client, is_built):
        """One of several has none, since it would not be complete."""
        make_products(3)
        sections.register("one", limited(3))
        sections.register("two", limited(2))
        if is_built:
            build_fully()
        assert text(client, "/sitemap-one.txt") == product_urls(range(3))
        with override_settings(DEBUG=True):
            missing = client.get("/sitemap-two.txt")
        assert missing.status_code == 404
        assert b"several pages, such as /sitemap-two-1.txt" in missing.content
        assert text(client, "/sitemap-two-2.txt") == product_urls([2])

    def test_pages_that_are_gone_or_never_were(self, served, client):
        """As of the page itself: nothing is listed under a number that is not."""
        for end in ("3", "0", "01", "999999999"):
            assert client.get(f"/sitemap-products-{end}.txt").status_code == 404
        if served == "published":
            Page.objects.filter(section__name="products", number=2).delete()
            assert client.get("/sitemap-products-2.txt").status_code == 410

    def test_names_of_sections_may_look_like_pages_and_files(self, sections, client):
        """The longest name of a section that there is counts."""
        make_products(3)
        sections.register("a", limited(1))
        sections.register("a-1", limited(5))
        sections.register("größe.txt", limited(5))
        assert text(client, "/sitemap-a-2.txt") == product_urls([1])
        assert text(client, "/sitemap-a-1.txt") == product_urls(range(3))
        assert text(client, "/sitemap-a-1-1.txt") == product_urls(range(3))
        assert len(text(client, "/sitemap-gr%C3%B6%C3%9Fe.txt.txt")) == 3
        assert client.get("/sitemap-größe.txt.txt.gz").status_code == 200
        assert len(urls_of(client, "/sitemap-a-1.rss")) == 3


@pytest.mark.urls("tests.support.urls_i18n")
def test_each_language_of_a_row_is_listed(sections, client, settings):
    settings.LANGUAGES = [("en-us", "English"), ("de", "Deutsch")]
    make_products(2)
    sections.register("products", limited(10, languages="all"))
    expected = locs(client.get("/sitemap-products-1.xml").content)
    assert len(expected) == 4
    for path in ["/sitemap-products.txt", *list(TYPES)[1:]]:
        found = text(client, path) if path.endswith("txt") else urls_of(client, path)
        assert sorted(found) == sorted(expected)


def test_robots_txt_may_name_them(client, settings):
    """Another's parser finds them beside the index."""
    urls = [f"{ORIGIN}{path}" for path in TYPES]
    settings.SITEMAPS_PLUS = {"BASE_URL": ORIGIN, "ROBOTS": {"SITEMAPS": urls}}
    robots = Protego.parse(client.get("/robots.txt").content.decode())
    assert list(robots.sitemaps) == [f"{ORIGIN}/sitemap.xml", *urls]
    assert all(robots.can_fetch(url, "Googlebot") for url in urls)
