"""The HTML site map lists for people what the sitemaps list."""

from datetime import date
from pathlib import Path
from typing import Any

import pytest
from django.contrib.sitemaps import Sitemap
from django.core.checks import run_checks
from django.db import connection
from django.db.models.functions import Upper
from django.test.utils import CaptureQueriesContext
from django.utils.translation import gettext, gettext_lazy, override
from django.utils.translation import gettext_lazy as _
from lxml import html

import django_sitemaps_plus
from django_sitemaps_plus import Alternate, Entry, ModelSource, Source, ViewSource
from django_sitemaps_plus.building.build import build
from django_sitemaps_plus.views.html_site_map import _link
from tests.support.faults import fail_open
from tests.support.shop import (
    START,
    ProductSource,
    limited,
    make_products,
    product_urls,
)
from tests.support.testapp.models import Product


@pytest.fixture
def small_pages(monkeypatch: Any) -> None:
    """Have four links on a page for people."""
    monkeypatch.setattr("django_sitemaps_plus.views.html_site_map.LINKS", 4)


CONTENT = "ul[@class='site-map']"
PARTS, PAGES = "nav[@aria-label='Parts']", "nav[@aria-label='Pages']"


def links(client: Any, path: str, part: str) -> list[str]:
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
        *("example.com 2. Januar 2026", "<b> ?a=1&b='2' 1. Januar 2026"),
        *("größe 1. Januar 2026", "größe / 12 1. Januar 2026"),
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
    link = _link("https://shop.example.de/a/", "", "https://shop.example", "")
    assert link.title == "shop.example.de / a"


class Versions(Source):
    """One page in two languages, and one in German alone."""

    def entries(self, origin: str) -> Any:
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


def titles(client: Any, path: str = "/sitemap/named/") -> list[str]:
    response = client.get(path)
    assert response.status_code == 200
    return html.fromstring(response.content).xpath(f"//{CONTENT}//a//text()")


class WithMethods(ModelSource):
    """Reads instances, which name themselves."""

    model = Product

    def location(self, obj: Product) -> str:
        return obj.get_absolute_url()


class Views(ViewSource):
    views = ("home",)

    def title(self, view: str) -> str:
        return f"View {view}"


class Given(Source):
    def entries(self, origin: str) -> Any:
        yield Entry(f"{origin}/12/")

    def title(self, entry: Entry) -> str:
        return f"Number {entry.loc.rpartition('/')[0][-2:]}"


class Contrib(Sitemap[Product]):
    def items(self) -> Any:
        return Product.objects.order_by("pk")


class Titled(Contrib):
    i18n = True
    languages = ("en", "de")

    def title(self, item: Product) -> str:
        return f"Product {item.name}"


class Paged(Contrib):
    def get_urls(self, *args: Any, **kwargs: Any) -> Any:
        return super().get_urls(*args, **kwargs)


class Spoken(Titled):
    """A class whose titles are translated when they are asked for."""

    def title(self, item: Product) -> str:
        return gettext("Yes")


class SpokenPages(Spoken, Paged):
    """The same with its own pages."""


class SpokenViews(Views):
    """Views with translated titles."""

    title = gettext_lazy("Yes")


def fail(*args: Any) -> Any:
    raise RuntimeError("asked")


class TestTitles:
    """People read names, where a source has them; no sitemap does."""

    @pytest.mark.parametrize(
        ("source", "expected"),
        [
            (limited(5), "product-00000"),
            (limited(5, title="name"), "<Tea> & more"),
            (limited(5, title=Upper("name")), "<TEA> & MORE"),
            (limited(5, title="{language}_text"), "product-00000"),  # no such field
            (limited(5, title=lambda self, obj: f"A {obj.slug}"), "A product-00000"),
            (limited(5, title=lambda self, obj: _("Yes")), "Ja"),
            (limited(5, title=lambda self, obj: None), "product-00000"),
            (limited(5, title=lambda self, obj: obj.nothing), "product-00000"),
            (WithMethods, "<Tea> & more"),
            (type("It", (WithMethods,), {"title": "slug"}), "product-00000"),
            (Views, "View home"),
            (Given, "Number 12"),
            (Contrib, "<Tea> & more"),
            (Titled, "Product <Tea> & more"),
            (Paged, "<Tea> & more"),
        ],
    )
    @pytest.mark.parametrize("is_built", [False, True])
    def test_they_are_those_of_the_source(
        self, sections, settings, client, source, expected, is_built
    ):
        settings.LANGUAGE_CODE = "de"
        make_products(1, name="<Tea>  &\nmore")
        sections.register("named", source)
        if is_built:
            build()
        assert titles(client)[0] == expected
        assert "title" not in client.get("/sitemap-named-1.xml").text

    @pytest.mark.parametrize("source", [Spoken, SpokenViews, SpokenPages])
    def test_they_are_in_the_language_of_the_reader(
        self, sections, settings, client, source
    ):
        settings.MIDDLEWARE = ["django.middleware.locale.LocaleMiddleware"]
        make_products(1)
        sections.register("named", source)
        with override(None):  # the middleware leaves its language behind
            for language, expected in (("de", "Ja"), ("fr", "Oui"), ("de", "Ja")):
                client.defaults["HTTP_ACCEPT_LANGUAGE"] = language
                assert titles(client)[0] == expected

    def test_one_that_raises_hides_no_other(self, sections, client):
        """Also where a bad value of an entry stops the page."""
        make_products(3)

        def title(self: Any, obj: Product) -> str:
            return {"product-00000": "One"}[obj.slug]

        sections.register("named", limited(5, title=title, on_error="raise"))
        assert titles(client) == ["One", "product-00001", "product-00002"]

    def test_no_other_field_is_read(self, sections, client):
        make_products(1)
        build_of = {"lastmod": fail, "images": fail}
        sections.register("named", type("It", (Titled,), build_of))
        assert titles(client)[0] == "Product Name 100000"

    def test_they_are_read_for_a_bounded_time(self, stock, client, monkeypatch):
        stock(2, limit=5, name="named", title="name")
        monkeypatch.setattr(f"{_link.__module__}.MAX_SECONDS", -1)
        assert titles(client) == ["product-00000", "product-00001"]

    def test_they_are_read_once_for_a_version_of_a_page(self, shop, client, configure):
        """Also those of a page that is not the first."""
        configure(LIVE_CACHE_SECONDS=60)
        shop(4, limit=2, name="named", title="name")
        for number, expected in ((1, [100_000, 99_999]), (2, [99_998, 99_997])):
            found = titles(client, f"/sitemap/named/{number}/")
            assert found == [f"Name {it}" for it in expected]
        with CaptureQueriesContext(connection) as queries:
            titles(client)
        assert not [it for it in queries if "testapp_product" in it["sql"]]
        Product.objects.order_by("pk").first().delete()
        build()
        assert titles(client) == ["Name 99999"]

    def test_without_them_the_links_are_there(self, shop, client, monkeypatch):
        """A source that raises, after its pages were built."""
        shop(1, limit=5, name="named", title="name")

        def broken(self: Any) -> Any:
            raise RuntimeError("no rows")

        monkeypatch.setattr(ProductSource, "get_queryset", broken)
        assert titles(client) == ["product-00000"]

    def test_a_path_that_is_no_field_is_an_error(self, sections):
        sections.register("named", limited(5, title="nam"))
        [message] = [it for it in run_checks() if it.obj is sections.get("named")]
        assert message.id == "sitemaps_plus.E022"
        assert (
            message.msg == "Section 'named': title names 'nam', which is not a field."
        )
