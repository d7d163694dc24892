"""The HTML site map lists for people what the sitemaps list."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Any

import pytest
from lxml import html

import django_sitemaps_plus
from django_sitemaps_plus import Alternate, Entry, Source
from django_sitemaps_plus.views.html_site_map import _link
from tests.support.faults import fail_open
from tests.support.shop import START, limited, make_products, product_urls


@pytest.fixture
def small_pages(monkeypatch: Any) -> None:
    """Have four links on a page for people."""
    monkeypatch.setattr("django_sitemaps_plus.views.html_site_map.LINKS", 4)


CONTENT = "ul[@class='site-map']"
PARTS, PAGES = "nav[@aria-label='Parts']", "nav[@aria-label='Pages']"


def links(client: Any, path: str, part: str) -> list[str]:
    """Return where the links of a part of a page lead."""
    response = client.get(path)
    assert response.status_code == 200
    hrefs = html.fromstring(response.content).xpath(f"//{part}//a/@href")
    return [path.partition("?")[0] + it if it[0] == "?" else it for it in hrefs]


class TestLinks:
    def test_every_url_is_reached_from_the_first_page(
        self, served, small_pages, client
    ):
        """Live or from files, by the links of sections, parts and pages."""
        assert links(client, "/sitemap/", CONTENT) == ["/sitemap/products/"]
        seen, found = set(), []
        waiting = ["/sitemap/products/"]
        while waiting:
            path = waiting.pop(0)
            if path not in seen:
                seen.add(path)
                found += links(client, path, CONTENT)
                waiting += links(client, path, PARTS) + links(client, path, PAGES)
        assert set(found) == set(product_urls(range(15)))

    def test_a_page_has_no_more_links_than_people_read(
        self, served, small_pages, client
    ):
        """In the order of the sitemap."""
        first = "/sitemap/products/1/"
        path = f"{first}?page=3"
        assert links(client, path, CONTENT) == product_urls([8, 9])
        pages = [f"{first}?page={number}" for number in (2, 1, 2)]
        assert links(client, path, PAGES) == pages
        assert links(client, path, PARTS) == ["/sitemap/products/2/"]

    def test_conditions_are_about_the_html(self, served, client):
        """Not about the sitemaps that it is made of."""
        expected = client.get("/sitemap/products/").content
        tag = client.get("/sitemap.xml")["ETag"]
        for name in ("If-None-Match", "Accept-Encoding"):
            given = {name: f"{tag}, gzip"}
            assert client.get("/sitemap/products/", headers=given).content == expected

    def test_a_strict_content_security_policy_allows_all_of_it(self, served, client):
        """Its style is a file, and there is no script."""
        for path in ("/sitemap/", "/sitemap/products/"):
            page = html.fromstring(client.get(path).content)
            assert page.xpath("//style | //script | //@style") == []
            (style,) = page.xpath("//link[@rel='stylesheet']/@href")
            static = Path(django_sitemaps_plus.__file__).parent / "static"
            assert (static / style).is_file()


class Odd(Source):
    """Entries whose URLs are not ASCII, or look like HTML."""

    def entries(self, origin: str) -> Any:
        """Yield some with a date, and one with a time."""
        yield Entry(f"{origin}/", lastmod=date(2026, 1, 2))
        for path in ("shop/%3Cb%3E/?a=1&b='2'", "shop/größe", "größe/12/"):
            yield Entry(f"{origin}/{path}", lastmod=START)


def test_people_read_paths_and_dates(sections, client, settings):
    """Decoded and escaped, in their language."""
    settings.LANGUAGE_CODE = "de"
    sections.register("odd", Odd)
    response = client.get("/sitemap/odd/")
    page = html.fromstring(response.content)
    texts = [item.text_content() for item in page.xpath(f"//{CONTENT}/li")]
    assert texts == [
        "example.com 2. Januar 2026",
        "<b> ?a=1&b='2' 1. Januar 2026",
        "größe 1. Januar 2026",
        "größe / 12 1. Januar 2026",
    ]
    assert page.xpath("//time/@datetime") == [
        "2026-01-02",
        *["2026-01-01T13:00:00+01:00"] * 3,
    ]
    assert (page.get("lang"), page.xpath("//title")[0].text) == ("de", "Odd | Sitemap")


def test_each_section_leads_to_the_others(sections, client):
    make_products(1)
    for name in ("products", "offers"):
        sections.register(name, limited(5))
    contents = "nav[@aria-label='Sections']"
    for name, other in (("products", "offers"), ("offers", "products")):
        path = f"/sitemap/{name}/"
        assert links(client, path, contents) == [f"/sitemap/{other}/"]


def test_the_host_is_named_where_it_is_another():
    """Languages may have domains of their own."""
    link = _link("https://shop.example.de/a/", "", "https://shop.example")
    assert link.title == "shop.example.de / a"


def test_nothing_is_sent_again_that_is_the_same(served, client):
    for path in ("/sitemap/", "/sitemap/products/"):
        tag = client.get(path)["ETag"]
        again = client.get(path, headers={"If-None-Match": tag})
        assert (again.status_code, again.content) == (304, b"")


class Versions(Source):
    """One page in two languages, and one in German alone."""

    def entries(self, origin: str) -> Any:
        """Yield both versions of the first, and the second."""
        both = [Alternate("en", f"{origin}/a/"), Alternate("de", f"{origin}/de/a/")]
        yield from [Entry(version.href, alternates=both) for version in both]
        german = f"{origin}/de/b/"
        yield Entry(german, alternates=[Alternate("de", german)])


@pytest.mark.parametrize(
    ("language", "expected"),
    [("en", ["a", "de/b"]), ("de", ["de/a", "de/b"]), ("fr", ["a", "de/a", "de/b"])],
)
def test_of_a_page_in_several_languages_people_get_theirs(
    sections, client, settings, language, expected
):
    """What is not in theirs is there as well."""
    settings.LANGUAGE_CODE = language
    sections.register("versions", Versions)
    urls = [f"https://example.com/{path}/" for path in expected]
    assert links(client, "/sitemap/versions/", CONTENT) == urls


def test_a_project_puts_its_own_frame_around_it(served, client, settings):
    """By a template of the name of ours, which extends its own."""
    frame = {"sitemaps_plus/base.html": "My shop: {% block content %}{% endblock %}"}
    (engine,) = settings.TEMPLATES
    loaders = [
        ("django.template.loaders.locmem.Loader", frame),
        "django.template.loaders.app_directories.Loader",
    ]
    options = {**engine["OPTIONS"], "loaders": loaders}
    settings.TEMPLATES = [{**engine, "APP_DIRS": False, "OPTIONS": options}]
    for path in ("/sitemap/", "/sitemap/products/"):
        assert client.get(path).content.startswith(b"My shop: ")


def test_a_lost_file_is_rendered_instead(served, client, monkeypatch):
    expected = client.get("/sitemap/products/").content
    fail_open(monkeypatch)
    assert client.get("/sitemap/products/").content == expected


def test_without_entries_it_is_404(sections, client):
    assert client.get("/sitemap/").status_code == 404
