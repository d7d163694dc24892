"""Languages: each row is listed in each of its languages, with all as alternates."""

import gc
import weakref
from typing import Any
from urllib.parse import urlsplit

import pytest
from django.conf.locale import LANG_INFO
from django.conf.urls.i18n import i18n_patterns
from django.contrib.sitemaps import Sitemap
from django.db.models import F, JSONField, OuterRef, Subquery, Value
from django.db.models.functions import Concat, NullIf
from django.test import Client
from django.urls import path, reverse
from django.utils.translation import get_language

from django_sitemaps_plus import ModelSource, Route, ViewSource
from django_sitemaps_plus.core.key_ranges import KeyRange
from django_sitemaps_plus.notifications.dispatch import notify_engines
from django_sitemaps_plus.section import open_section
from django_sitemaps_plus.signals import urls_changed
from django_sitemaps_plus.sources import Tally
from django_sitemaps_plus.testing import RecordingEngine
from tests.support.builds import build_and_relay
from tests.support.documents import Listed, locs, read_urlset
from tests.support.rendered import SITE, pages_of, plain, render
from tests.support.shop import make_products
from tests.support.testapp.models import Author, Book, Product
from tests.support.told import hearing
from tests.support.urls import view

pytestmark = pytest.mark.urls("tests.support.urls_i18n")

CODES = ("en-us", "de", "fr")


@pytest.fixture(autouse=True)
def languages(settings: Any) -> None:
    settings.LANGUAGES = [(code, code) for code in CODES]
    make_products(3)


class RouteSource(ModelSource):
    model = Product
    languages = "all"
    x_default = True
    lastmod = "updated_at"
    location = Route("product-detail", slug="slug")


class MethodSource(RouteSource):
    location = None  # get_absolute_url()


class ProductSitemap(Sitemap):
    i18n = alternates = x_default = True

    def items(self):
        return Product.objects.order_by("pk")

    def lastmod(self, item):
        return item.updated_at


def routed(**attributes: Any) -> type[RouteSource]:
    return type("Routed", (RouteSource,), attributes)


def counts(page: Any) -> tuple[int, int, int]:
    return (page.tally.entries, page.tally.dropped, page.tally.skipped)


def of_second(product: Any, there: Any, elsewhere: Any) -> Any:
    """Return what the second product has, or what the others have."""
    return there if product.slug.endswith("1") else elsewhere


def listed(source: Any) -> list[Listed]:
    return read_urlset(plain(render(source)))


def by_path(source: Any) -> dict[str, list[tuple[str, str]]]:
    host = "https://example.com"
    return {
        it.loc.removeprefix(host): [(k, v.removeprefix(host)) for k, v in it.alternates]
        for it in listed(source)
    }


@pytest.mark.parametrize("source", [RouteSource, MethodSource])
@pytest.mark.parametrize("default", CODES)
def test_entries_are_those_of_contrib(source, default, sections, settings):
    settings.LANGUAGE_CODE = default
    sections.register("products", ProductSitemap)
    expected = read_urlset(Client().get("/sitemap-products-1.xml").content)
    assert len(expected) == 9
    assert sorted(listed(source), key=str) == sorted(expected, key=str)


def test_a_page_holds_as_many_entries_as_the_limit():
    make_products(7, first=3)
    pages = list(map(locs, pages_of(routed(limit=12))))
    assert list(map(len, pages)) == [12, 12, 6]
    assert len(set().union(*pages)) == 30


@pytest.mark.parametrize("kind", [RouteSource, ProductSitemap])
def test_a_row_fits_into_a_page_whatever_the_limit(kind, sections):
    """Its languages would else be more than any page may have."""
    sections.register("products", type("Small", (kind,), {"limit": 2}))
    assert not build_and_relay().problems
    pages = [Client().get(f"/sitemap-products-{number}.xml") for number in (1, 2, 3)]
    assert [len(read_urlset(page.content)) for page in pages] == [3, 3, 3]


@pytest.mark.parametrize("source", [RouteSource, MethodSource])
def test_many_languages_are_rendered_in_small_chunks(source, settings):
    """Or the lines of 500 rows fill the memory."""
    settings.LANGUAGES = [(code, code) for code in LANG_INFO if len(code) == 2][:40]
    settings.LANGUAGE_CODE = "en"
    make_products(120, first=3)
    tally = Tally("products")
    section = open_section(source(), SITE)
    with section.reading():
        chunks = list(section.reader.chunks(KeyRange(), tally))
    assert [chunk.count("<url>") for chunk in chunks] == [2_000, 2_000, 920]


class TestLanguagesOfARow:
    def test_a_method_says_which_it_has(self):
        def has(self, product):
            return of_second(product, ["de", "fr"], ["de"])

        found = by_path(routed(x_default=False, get_languages=has))
        de, fr = [(code, f"/{code}/products/product-00001/") for code in ("de", "fr")]
        assert len(found) == 4
        assert found[de[1]] == found[fr[1]] == [de, fr]
        assert found["/de/products/product-00000/"] == [
            ("de", "/de/products/product-00000/")
        ]

    def test_a_path_names_a_column_of_them(self):
        """Rows stay tuples."""

        class Source(RouteSource):
            get_languages = "codes"

            def get_queryset(self):
                codes = Value(["fr"], output_field=JSONField())
                return super().get_queryset().annotate(codes=codes)

        assert list(by_path(Source))[:1] == ["/fr/products/product-00000/"]
        assert len(listed(Source)) == 3

    @pytest.mark.parametrize(("given", "skipped"), [([], 0), ("de", 1), (5, 1)])
    def test_none_of_them_leaves_the_row_out_and_no_list_is_named(self, given, skipped):
        """A string is a list of letters; the other rows stay."""

        def has(self, product):
            return of_second(product, given, None)

        page = render(routed(get_languages=has))
        assert counts(page) == (6, 0, skipped)
        words = f"TypeError: {given!r} is not a list of languages"
        assert all(words in problem for problem in page.tally.problems)

    def test_a_generator_is_read_once(self):
        def has(self, product):
            return (code for code in ("fr", "de"))

        assert len(listed(routed(get_languages=has))) == 6

    def test_bad_versions_keep_no_row_in_memory(self):
        rows = []

        def location(self, product):
            rows.append(weakref.ref(product))
            return {"en-us": None, "de": "//bad", "fr": "//worse"}[get_language()]

        gc.disable()
        try:
            render(routed(location=location))
            assert [row() for row in rows] == [None] * 9
        finally:
            gc.enable()


ORIGINS = {"de": "https://example.de", "fr": "https://example.com/fr-shop"}


class TestOriginsOfLanguages:
    @pytest.fixture(autouse=True)
    def origins(self, configure) -> None:
        configure(LANGUAGE_ORIGINS=ORIGINS)

    @pytest.mark.parametrize("source", [RouteSource, MethodSource])
    @pytest.mark.parametrize(
        ("has_all_prefixes", "english"), [(True, "/en-us"), (False, "")]
    )
    def test_versions_are_at_the_origin_of_their_language(
        self, settings, source, has_all_prefixes, english
    ):
        products = path("products/<slug:slug>/", view, name="product-detail")
        settings.ROOT_URLCONF = (
            *i18n_patterns(products, prefix_default_language=has_all_prefixes),
        )
        found = listed(source)
        assert len({it.loc for it in found}) == 9
        assert found[4].loc == "https://example.de/de/products/product-00001/"
        versions = (
            ("en-us", f"https://example.com{english}/products/product-00001/"),
            ("de", "https://example.de/de/products/product-00001/"),
            ("fr", "https://example.com/fr-shop/fr/products/product-00001/"),
            ("x-default", "https://example.com/products/product-00001/"),
        )
        assert {it.alternates for it in found[3:6]} == {versions}
        assert [it.loc for it in found[3:6]] == [url for _, url in versions[:3]]

    def test_the_url_of_x_default_is_at_the_origin_of_its_language(self, settings):
        settings.LANGUAGE_CODE = "fr"
        expected = ("x-default", f"{ORIGINS['fr']}/products/product-00000/")
        assert listed(RouteSource)[0].alternates[-1] == expected

    def test_views_are_there_as_well(self):
        source = type("Views", (ViewSource,), {"views": ("home",), "languages": CODES})
        assert [it.loc for it in listed(source)] == [
            "https://example.com/en-us/",
            "https://example.de/de/",
            "https://example.com/fr-shop/fr/",
        ]

    def test_a_source_without_languages_is_at_the_site(self):
        source = routed(languages=(), x_default=False)
        assert listed(source)[0].loc.startswith("https://example.com/en-us/")

    def test_an_absolute_location_is_that_of_its_language(self):
        def location(self, product):
            return f"https://example.de/{get_language()}/{product.slug}/"

        assert [it.loc for it in listed(routed(location=location))] == [
            f"https://example.de/de/product-{number:05}/" for number in range(3)
        ]

    def test_each_host_is_submitted_by_itself(self, publish, configure):
        """An engine takes the URLs of one host in a request."""
        engine = {"BACKEND": "django_sitemaps_plus.testing.RecordingEngine"}
        configure(ENGINES={"one": engine}, NOTIFY=True, NOTIFY_DELAY_SECONDS=0)
        publish(RouteSource)
        product = Product.objects.get(slug="product-00001")
        product.slug = "other"
        product.save()
        build_and_relay()
        notify_engines()
        found = {
            batch.host: {urlsplit(it).netloc for it in batch.targets}
            for batch in RecordingEngine.batches
        }
        RecordingEngine.clear()
        assert found == {host: {host} for host in ("example.com", "example.de")}


class TranslatedSource(RouteSource):
    """Slugs in a field of each language, as translated models have them."""

    location = Route("product-detail", slug="slug_{language}")

    def get_queryset(self) -> Any:
        return (
            super()
            .get_queryset()
            .annotate(
                slug_en_us=F("slug"),
                slug_de=Concat("slug", Value("-de")),
                slug_fr=NullIf("slug", Value("product-00001")),
            )
        )


class TestTranslatedFields:
    def test_the_code_is_in_the_path(self):
        found = by_path(TranslatedSource)
        assert found["/de/products/product-00000-de/"] == [
            ("en-us", "/en-us/products/product-00000/"),
            ("de", "/de/products/product-00000-de/"),
            ("fr", "/fr/products/product-00000/"),
            ("x-default", "/products/product-00000/"),
        ]

    def test_a_version_that_is_none_is_left_out(self):
        assert counts(render(TranslatedSource)) == (8, 0, 0)
        found = by_path(TranslatedSource)
        assert "/fr/products/product-00001/" not in found
        named = [code for code, _ in found["/en-us/products/product-00001/"]]
        assert named == ["en-us", "de", "x-default"]

    def test_a_version_that_cannot_be_written_is_named(self):
        class Source(TranslatedSource):
            def get_queryset(self):
                return super().get_queryset().annotate(slug_de=Value("no slug"))

        page = render(Source)
        assert counts(page) == (5, 3, 0)
        assert "listed without its 'de' version: NoReverse" in page.tally.problems[0]

    def test_a_row_without_any_is_left_out_once(self):
        Product.objects.filter(slug="product-00001").update(slug="no slug")
        assert counts(render(RouteSource)) == (6, 0, 1)


def test_a_table_of_translations_is_read_once_a_language():
    """As the docs show it for models with translations in rows of their own."""
    author = Author.objects.create(name="de")
    Book.objects.create(author=author, slug="buch")
    Book.objects.create(author=author, slug="book")

    class Source(ModelSource):
        model = Author
        languages = ("en-us", "de")
        location = Route("product-detail", slug="slug_{language}")

        def get_queryset(self):
            queryset = super().get_queryset()
            for code, slug in (("en_us", "book"), ("de", "buch")):
                found = Book.objects.filter(author=OuterRef("pk"), slug=slug)
                slugs = Subquery(found.values("slug"))
                queryset = queryset.annotate(**{f"slug_{code}": slugs})
            return queryset

    assert list(by_path(Source)) == ["/en-us/products/book/", "/de/products/buch/"]


def test_a_save_of_one_version_changes_all_that_name_it(publish, settings):
    settings.LANGUAGES = [("slug", "a"), ("name", "b")]  # so that these are fields
    Product.objects.update(name=F("slug"))
    location = Route("product-detail", slug="{language}")
    publish(routed(x_default=False, location=location))
    product = Product.objects.get(slug="product-00001")
    product.name = "new"
    product.save(update_fields=["name"])
    with hearing(urls_changed) as heard:
        build_and_relay()
    root = "https://example.com"
    [told] = heard
    assert told["added"] == [f"{root}/name/products/new/"]
    assert told["updated"] == [f"{root}/slug/products/product-00001/"]
    assert told["removed"] == [f"{root}/name/products/product-00001/"]


def test_views_are_listed_in_each_language():
    class Source(ViewSource):
        views = ("home",)
        languages = ("en-us", "de")
        get_languages = ("de", "en-us", "it")
        priority = 0.5

        def lastmod(self, view):
            return "2026-01-02"

    assert by_path(Source) == {
        path: [("en-us", "/en-us/"), ("de", "/de/")] for path in ("/en-us/", "/de/")
    }


def test_all_forms_of_a_location_are_written_alike():
    """A page holds whole rows, so that versions name each other on one page."""

    def location(self, product):
        return reverse("product-detail", kwargs={"slug": product.slug})

    forms = (RouteSource, MethodSource, routed(location=location))
    first, *others = [plain(render(it)) for it in forms]
    assert others == [first] * 2
    assert locs(first)[:3] == [
        f"https://example.com/{code}/products/product-00000/" for code in CODES
    ]
