"""Explanations of why a URL is listed or not, and rows that people exclude."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import pytest
from django.contrib.sitemaps import Sitemap
from django.core.management import CommandError, call_command
from django.db import DatabaseError, transaction
from django.db.models import Case, F, Q, When
from django.db.models.functions import Greatest, Now
from django.http import HttpResponse
from django.urls import path
from django.utils import timezone

from django_sitemaps_plus import Entry, ModelSource, Route, Source, ViewSource
from django_sitemaps_plus.diagnostics import requests
from django_sitemaps_plus.diagnostics.explain import Explanation, explain_object
from django_sitemaps_plus.diagnostics.explain import explain_url as explain
from django_sitemaps_plus.diagnostics.requests import exclude, lift
from django_sitemaps_plus.exceptions import EngineRefused, RetryLater
from django_sitemaps_plus.models import (
    Change,
    Delivery,
    EngineHost,
    Exclusion,
    Page,
    Section,
    UrlChanges,
    Worker,
)
from django_sitemaps_plus.notifications.dispatch import notify_engines
from django_sitemaps_plus.sites import get_site
from django_sitemaps_plus.storage import delete_object
from django_sitemaps_plus.testing import RecordingEngine
from tests.support.builds import build_and_relay, build_fully
from tests.support.faults import fail_queries
from tests.support.rows import RowsElsewhere, make_tables
from tests.support.shop import (
    START,
    ProductSource,
    limited,
    make_products,
    product_urls,
)
from tests.support.testapp.models import Author, Book, Cafe, Label, Place, Product

from .rows import ENGINE
from .test_doctor import urlconf

ORIGIN = "https://example.com"
URL = f"{ORIGIN}/products/product-00003/"


YEAR, LAST = timedelta(days=365), datetime(2050, 1, 1, tzinfo=UTC)
CAME = Case(When(updated_at__lte=Now(), then=True), default=None)
LATER = Greatest("updated_at", "updated_at")


def annotated(of: Any, **conditions: Any) -> Any:
    """Return rows with an annotation, and conditions on it."""
    return Product.objects.annotate(n=of).filter(**conditions)


class Published(ProductSource):
    limit = 2

    def get_queryset(self) -> Any:
        return super().get_queryset().filter(published=True)


def model_source(model: Any, **attributes: Any) -> Any:
    """Return a source of a model, whose rows have their own URLs."""
    return type("Rows", (ModelSource,), {"model": model, **attributes})


Methods = model_source(Product)


class Items(Sitemap):
    def items(self) -> Any:
        return Product.objects.filter(published=True)


class Listed(Items):
    def items(self) -> Any:
        return list(super().items())


class Entries(Source):
    def entries(self, origin: str) -> Any:
        for product in Product.objects.filter(published=True).order_by("pk"):
            yield Entry(f"{origin}{product.get_absolute_url()}")


class Views(ViewSource):
    views = ("home", "about")


@pytest.fixture
def products(sections: Any) -> list[Product]:
    """Have five products, three pages of them when they are built."""
    return make_products(5)


def explained(url: str = URL) -> Explanation:
    """Return what is said of a URL."""
    return explain(url, get_site())


def reasons(url: str = URL) -> list[str]:
    """Return why the only row that a URL leads to is not listed."""
    found = explained(url)
    assert not found.listings
    [lead] = found.rows
    return lead.reasons


class TestListed:
    def test_a_built_page_has_its_object(self, sections, products):
        sections.register("products", Published)
        build_fully()
        page = Page.objects.get(section__name="products", number=2)
        Page.objects.exclude(pk=page.pk).update(object="products/1/gone.xml.gz")
        found = explained()
        [listing] = found.listings
        assert found.is_listed
        assert (listing.url, listing.section, listing.page) == (URL, "products", 2)
        assert listing.lastmod == "2026-01-01T12:03:00+00:00"
        assert listing.object == page.object
        assert listing.published_at == page.published_at
        [lead] = found.rows
        name = f"Product {products[3].pk} (Name 99997)"
        assert (lead.row, lead.urls) == (name, [URL])
        assert (lead.reasons, found.notes) == ([], [])

    @pytest.mark.parametrize(
        ("source", "page"),
        [
            (Published, 2),
            (limited(2, location=Route("product-detail", slug="slug")), 2),
            (Methods, 1),
            (Items, 1),
            (Listed, 1),
            (Entries, 1),
        ],
    )
    @pytest.mark.parametrize("is_built", [False, True])
    def test_any_form_of_source_is_searched(
        self, sections, products, source, page, is_built
    ):
        """By the row as well, if it has keys: then no other page is read."""
        sections.register("products", source)
        sections.register("labels", model_source(Label))
        if is_built:
            build_fully()
        by_url = explained("/products/product-00003/")
        found = [by_url]
        has_keys = source not in (Listed, Entries)
        assert len(by_url.rows) == has_keys
        if has_keys:
            Page.objects.exclude(number=page).update(object="products/1/gone.xml.gz")
            found.append(explain_object(products[3], get_site()))
        for it in found:
            [listing] = it.listings
            assert (it.url, it.is_listed, it.notes) == (URL, True, [])
            assert (listing.url, listing.section) == (URL, "products")
            assert (listing.page, bool(listing.object)) == (page, is_built)
            assert [(lead.section, lead.reasons) for lead in it.rows] == (
                [("products", [])] * has_keys
            )

    @pytest.mark.urls("tests.support.urls_i18n")
    def test_a_url_at_the_origin_of_a_language(self, sections, products, configure):
        german = "https://example.de/de/products/product-00003/"
        configure(LANGUAGE_ORIGINS={"de": "https://example.de"})
        sections.register("products", limited(50, languages=["en", "de"]))
        [listing] = [it for it in explained(german).listings if it.url == german]
        assert listing.section == "products"
        [note] = explained("https://example.de/nothing/").notes
        assert "The site has no page" in note
        [note] = explained("https://example.fr/nothing/").notes
        assert "not on https://example.com" in note

    @pytest.mark.database
    def test_a_location_in_a_field_leads_to_its_row(self, sections):
        Label.objects.bulk_create([Label(code="/labels/é/"), Label(code="/labels/b/")])
        sections.register("labels", model_source(Label, location="code"))
        [lead] = explained("/labels/%C3%A9/").rows
        assert lead.row == "Label '/labels/é/'"
        assert lead.urls == [f"{ORIGIN}/labels/%C3%A9/"]

    def test_an_annotation_leads_to_its_row(self, sections, products):
        """Also to that of a row which the annotation says nothing of by itself."""

        def get_queryset(self: Any) -> Any:
            return Product.objects.annotate(own=F("slug"))

        route = Route("product-detail", slug="own")
        source = limited(6, location=route, get_queryset=get_queryset)
        sections.register("products", source)
        [lead] = explained(URL).rows
        assert lead.row.startswith(f"Product {products[3].pk} ")

    def test_a_unique_field_leads_to_a_row_that_moved(
        self, sections, products, settings
    ):
        """Its URL was another, whose number still names it."""
        pattern = path("p/<int:pk>/<slug:slug>/", HttpResponse, name="numbered")
        settings.ROOT_URLCONF = urlconf(pattern)
        route = Route("numbered", pk="pk", slug="slug")
        sections.register("products", limited(6, location=route))
        found = explained(f"/p/{products[3].pk}/former/")
        [lead] = found.rows
        assert lead.urls == [f"{ORIGIN}/p/{products[3].pk}/product-00003/"]
        assert [it.url for it in found.listings] == lead.urls
        assert not found.is_listed

    def test_another_section_that_raises_hides_no_reason(self, sections, products):
        """Its pages are searched, as far as they are built."""
        broken = limited(6)
        sections.register("broken", broken)
        sections.register("products", Published)
        build_fully()
        Product.objects.filter(pk=products[3].pk).delete()
        build_fully()

        def fail(self: Any) -> Any:
            raise RuntimeError("away")

        broken.get_queryset = fail
        for is_built in (True, False):
            found = explained()
            assert (found.is_listed, found.is_whole) == (False, is_built)
            assert ["broken" in note for note in found.notes] == [True]
            Section.objects.filter(name="broken").delete()

    def test_a_file_that_is_lost_hides_no_other(self, sections, products):
        sections.register("products", type("Few", (Entries,), {"limit": 2}))
        build_fully()
        lost = Page.objects.get(section__name="products", number=1)
        delete_object(lost.object)
        found = explained(URL)
        assert found.is_listed
        assert not found.is_whole
        assert "The file of page 1 of section 'products' cannot be read." in found.notes

    def test_one_that_is_excluded_is_leaving(self, sections, products):
        sections.register("products", Published)
        build_fully()
        assert not explained().is_leaving
        exclude(products[3], by="ada")
        assert explained().is_leaving

    @pytest.mark.parametrize("prefix", ["/en", "/de", "/fr"])
    def test_each_language_leads_to_the_row(self, sections, products, settings, prefix):
        settings.ROOT_URLCONF = "tests.support.urls_i18n"
        sections.register("products", limited(6, languages="all"))
        for _ in range(2):
            found = explained(f"{prefix}/products/product-00003/")
            assert found.is_listed
            [lead] = found.rows
            assert (len(lead.urls), lead.reasons) == (3, [])
            build_fully()

    def test_a_field_named_as_a_language(self, sections, products, settings):
        """Here the field is "id", and so is the language."""
        settings.ROOT_URLCONF = "tests.support.urls_i18n"
        settings.LANGUAGES = [("en", "English"), ("id", "Indonesian")]
        route = Route("product-detail", slug="{language}")
        sections.register("products", limited(6, languages=["id"], location=route))
        pk = products[3].pk
        [found] = explained(f"{ORIGIN}/id/products/{pk}/").rows
        assert (found.row, found.reasons) == (f"Product {pk} (Name 99997)", [])

    def test_views_are_searched_on_their_page(self, sections):
        sections.register("pages", Views)
        assert explained("about/").is_listed
        [listing] = explained("/about/").listings
        assert (listing.section, listing.lastmod) == ("pages", "")
        [note] = explained("/contact/").notes
        assert note.endswith("(view contact, {}).")

    def test_only_so_many_pages_are_searched(self, sections, products, monkeypatch):
        monkeypatch.setattr("django_sitemaps_plus.diagnostics.explain.MAX_PAGES", 2)
        sections.register("products", type("Few", (Entries,), {"limit": 1}))
        assert explained("/products/product-00001/").listings
        found = explained()
        assert found.listings == []
        assert "Only 2 pages of section 'products' were searched." in found.notes


class TestObjects:
    """The same of a row itself, by whatever section has it."""

    def test_each_reason_is_named(self, sections, products):
        """Among them who has excluded it; the URL is known none the less."""
        sections.register("products", Published)
        build_fully()
        exclude(products[3], by="ada", note="sold out")
        found = explain_object(products[3], get_site())
        [reason] = found.rows[0].reasons
        assert re.fullmatch(r"excluded by ada since 20\S+ \S+ [A-Z]+: sold out", reason)
        assert found.is_listed  # until the next build
        build_and_relay()
        found = explain_object(products[3], get_site())
        assert (found.url, found.is_listed) == (URL, False)
        Exclusion.objects.update(by="", note="")
        [reason] = reasons()
        assert re.fullmatch(r"excluded since 20\S+ \S+ [A-Z]+", reason)
        Product.objects.update(published=False)
        found = explain_object(products[3], get_site())
        assert len(found.rows[0].reasons) == 2

    def test_a_parent_and_a_child_are_one_row(self, sections):
        cafe = Cafe.objects.create(slug="cafe")
        route = Route("product-detail", slug="slug")
        for name, model in (("places", Place), ("cafes", Cafe)):
            sections.register(name, model_source(model, location=route))
        for row in (cafe, cafe.place_ptr):
            found = explain_object(row, get_site())
            assert [it.section for it in found.listings] == ["places", "cafes"]
        found = explain_object(Place.objects.create(slug="other"), get_site())
        assert [it.section for it in found.listings] == ["places"]

    def test_a_section_that_cannot_be_read_hides_no_other(self, sections, products):
        sections.register("broken", lambda: Items().missing)
        sections.register("products", Published)
        found = explain_object(products[3], get_site())
        assert found.is_listed
        assert any("AttributeError" in note for note in found.notes)

    def test_one_that_left_the_query_unseen_is_still_listed(self, sections, products):
        sections.register("products", Published)
        build_fully()
        Product.objects.filter(pk=products[3].pk).update(published=False)
        found = explain_object(products[3], get_site())
        assert (found.url, found.is_listed, found.is_leaving) == (URL, True, True)
        assert any("is out of date" in note for note in found.notes)
        build_fully()
        found = explain_object(products[3], get_site())
        assert (found.is_whole, found.listings) == (True, [])

    def test_one_without_a_url_is_not_known_until_its_page_leaves_it_out(
        self, sections, products
    ):
        def fail(self: Any, row: Product) -> Any:
            if row == products[3]:
                raise ValueError("no place")
            return row.get_absolute_url()

        sections.register("products", Published)
        build_fully()
        sections.unregister("products")
        sections.register("products", limited(10, location=fail))
        found = explain_object(products[3], get_site())
        assert (found.is_whole, found.listings) == (False, [])
        build_fully(allow_shrink=True)
        found = explain_object(products[3], get_site())
        assert (found.is_whole, found.listings) == (True, [])

    def test_what_no_section_lists_has_no_url(self, sections):
        sections.register("pages", Views)
        found = explain_object(Label.objects.create(code="a"), get_site())
        assert (found.url, found.is_listed, found.rows) == ("", False, [])


@pytest.mark.parametrize(
    "url",
    [
        "http://example.com/products/product-00003/",
        "https://www.example.com/products/product-00003/",
        f"{URL[:-1]}",
        f"{URL}?utm_source=x",
        f"{ORIGIN}/products/product%2D00003/",
    ],
)
@pytest.mark.parametrize("source", [Published, Listed])
def test_a_near_miss_is_found(sections, products, source, url):
    sections.register("products", source)
    build_fully()
    found = explained(url)
    assert not found.is_listed
    assert [listing.url for listing in found.listings] == [URL]


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ("example.com/posts/x/", f"{ORIGIN}/posts/x/"),
        ("Example.COM/posts/x/", f"{ORIGIN}/posts/x/"),
        ("//example.com/x", f"{ORIGIN}/x"),
        ("example.com", ORIGIN),
        ("example.com?page=2", f"{ORIGIN}?page=2"),
        ("example.com/?to=http://other.dev/", f"{ORIGIN}/?to=http://other.dev/"),
        ("example.com:8000/x", f"{ORIGIN}:8000/x"),
        ("www.example.com", "https://www.example.com"),
        ("shop.example.com/x", "https://shop.example.com/x"),
        ("other.dev/x", "https://other.dev/x"),
        ("//other.dev", "https://other.dev"),
        ("www.other.dev", "https://www.other.dev"),
        ("bücher.рф/x", "https://xn--bcher-kva.xn--p1ai/x"),
        ("localhost:8000/x", "https://localhost:8000/x"),
        ("[::1]:8000/x", "https://[::1]:8000/x"),
        # Paths, since no host stands first, or since the site has that path.
        ("posts/x/", f"{ORIGIN}/posts/x/"),
        ("/posts/x/", f"{ORIGIN}/posts/x/"),
        ("x", f"{ORIGIN}/x"),
        ("", f"{ORIGIN}/"),
        ("?page=2", f"{ORIGIN}/?page=2"),
        ("/example.com/x", f"{ORIGIN}/example.com/x"),
        ("/?to=http://other.dev/", f"{ORIGIN}/?to=http://other.dev/"),
        ("about.html", f"{ORIGIN}/about.html"),
        ("v1.2/notes/", f"{ORIGIN}/v1.2/notes/"),
        ("Help:Contents", f"{ORIGIN}/Help:Contents"),
        ("notes.old/x/", f"{ORIGIN}/notes.old/x/"),
        ("part:2/", f"{ORIGIN}/part:2/"),
    ],
)
def test_a_url_may_lack_its_scheme(settings, given, meant):
    names = ["notes.old/<slug:slug>/", "part:2/"]
    urls = [path(name, lambda request: HttpResponse()) for name in names]
    settings.ROOT_URLCONF = urlconf(*urls)
    assert explained(given).url == meant


def either(self: Any) -> Any:
    """Be a queryset of alternatives."""
    return Product.objects.filter(Q(published=True) | Q(name="x"))


class TestConditions:
    @pytest.mark.database
    def test_each_is_named_with_its_value(self, sections, products):
        def strict(self: Any) -> Any:
            rows = Product.objects.filter(published=True).exclude(name="x")
            return rows.filter(popularity__gt=3)

        sections.register("products", limited(2, get_queryset=strict))
        changed = Product.objects.filter(slug="product-00003")
        changed.update(published=False, popularity=2)
        assert reasons() == [
            "published is No; it must be Yes",
            "popularity is 2.0; it must be above 3.0",
        ]

    @pytest.mark.database
    @pytest.mark.parametrize(
        ("condition", "words"),
        [
            (Q(name="x"), "name is 'odd'; it must be 'x'"),
            (~Q(name="odd"), "name is 'odd'; it must not be 'odd'"),
            (Q(name__in=["a", "b"]), "name is 'odd'; it must be one of 'a', 'b'"),
            (Q(name__in=[*"abcdefg"]), "one of 'a', 'b', 'c', 'd', 'e', …"),
            (~Q(name__in=["odd"]), "name is 'odd'; it must not be 'odd'"),
            (Q(popularity=None), "popularity is 2.0; it must be empty"),
            (~Q(popularity__isnull=False), "popularity is 2.0; it must be empty"),
            (Q(name__contains="x"), "name is 'odd'; it must contain 'x'"),
            (~Q(name__contains="o"), "name is 'odd'; it must not contain 'o'"),
            (Q(popularity__range=(3, 4)), "it must be between: 3.0, 4.0"),
            (Q(name=F("slug")), "it does not meet a condition on: name, slug"),
            (Q(updated_at__year=2030), "it does not meet a condition on: updated at"),
            (
                Q(name="x") | Q(published=True, popularity__gt=3),
                "name is 'odd'; it must be 'x', or popularity is 2.0; it must be above",
            ),
            (
                ~Q(name="odd", popularity=2.0),
                "name is 'odd'; it must not be 'odd', or popularity is 2.0; it must",
            ),
            (~(Q(name="odd") | Q(popularity=3)), "name is 'odd'; it must not be 'odd'"),
            (~Q(popularity__lt=3), "popularity is 2.0; it must be 3.0 or more"),
            (Q(updated_at__lte=Now()), "listed from Jan. 2, 2040, 5:04 a.m."),
            (~Q(updated_at__gt=Now()), "listed from Jan. 2, 2040, 5:04 a.m. EET"),
            (
                Q(updated_at__lte=datetime(2030, 1, 1, tzinfo=UTC)),
                "updated at is Jan. 2, 2040, 5:04 a.m.; it must be "
                "Jan. 1, 2030, 2 a.m. or less",
            ),
            (
                Q(updated_at__lte=datetime(2040, 1, 2, 3, 4, tzinfo=UTC)),
                "5:04 a.m. (05:04:05); it must be Jan. 2, 2040, 5:04 a.m. (05:04:00)",
            ),
            (
                Q(updated_at=None) | Q(updated_at__lte=Now()),
                "must be empty, or updated at is Jan. 2, 2040, 5:04 a.m.; it must be",
            ),
        ],
    )
    def test_plain_comparisons_are_told_in_words(
        self, sections, products, condition, words
    ):
        """Times in the time zone of the reader; never as SQL."""

        def rows(self: Any) -> Any:
            return Product.objects.filter(condition)

        sections.register("products", limited(2, get_queryset=rows))
        later = datetime(2040, 1, 2, 3, 4, 5, tzinfo=UTC)
        Product.objects.update(name="odd", popularity=2, updated_at=later)
        with timezone.override("Europe/Helsinki"):
            [reason] = reasons()
        assert words in reason

    @pytest.mark.database
    @pytest.mark.parametrize(
        ("rows", "words"),
        [
            (lambda now: Q(updated_at__range=(now - YEAR, now)), "from Jan. 2, 2040"),
            (lambda now: Q(updated_at__range=(LAST, LAST + YEAR)), ""),
            (lambda now: Q(updated_at__date__lte=now.date()), "from Jan. 2, 2040"),
            (lambda now: Q(updated_at__date__lt=now.date()), ""),
            (lambda now: annotated(CAME, n=True), "from Jan. 2, 2040, 4:04 a.m. CET"),
            (lambda now: annotated(CAME, n=False), ""),
            (lambda now: annotated(LATER, n__lte=now), "from Jan. 2, 2040, 4:04 a.m."),
            (lambda now: annotated(LATER, n__gte=LAST), ""),
        ],
    )
    def test_times_within_expressions(self, sections, products, rows, words):
        """As far as their values are simply known."""

        def get_queryset(self: Any) -> Any:
            found = rows(timezone.now())
            return Product.objects.filter(found) if isinstance(found, Q) else found

        sections.register("products", limited(2, get_queryset=get_queryset))
        later = datetime(2040, 1, 2, 3, 4, 5, tzinfo=UTC)
        Product.objects.update(updated_at=later)
        [reason] = reasons()
        assert ("listed" in reason) == bool(words)
        assert words in reason

    @pytest.mark.database
    def test_a_time_that_is_over(self, sections, products):
        def rows(self: Any) -> Any:
            return Product.objects.filter(updated_at__gte=timezone.now())

        sections.register("products", limited(2, get_queryset=rows))
        Product.objects.update(updated_at=datetime(2020, 1, 2, 3, 4, tzinfo=UTC))
        assert reasons() == ["listed until Jan. 2, 2020, 4:04 a.m. CET"]

    @pytest.mark.database
    @pytest.mark.parametrize(
        ("source", "words"),
        [
            (Items, "published is No; it must be Yes"),
            (limited(2, get_queryset=either), "it must be Yes, or name is"),
            (
                limited(2, get_queryset=lambda self: Product.objects.none()),
                "no row at all",
            ),
        ],
    )
    def test_a_condition_may_have_any_form(self, sections, products, source, words):
        sections.register("products", source)
        Product.objects.update(published=False)
        [reason] = reasons()
        assert words in reason

    @pytest.mark.database
    def test_a_row_without_a_related_one(self, sections):
        def tagged(self: Any) -> Any:
            return Book.objects.filter(tags__name="new", author__name="A")

        Book.objects.create(author=Author.objects.create(name="A"), slug="b")
        route = Route("book-detail", slug="slug")
        books = model_source(Book, location=route, get_queryset=tagged)
        sections.register("books", books)
        [reason] = reasons("/books/b/")
        assert reason == "tag: name: it must be 'new'"

    @pytest.mark.database
    @pytest.mark.parametrize(
        ("condition", "words"),
        [
            (Q(author__name="B"), "author: name is 'A'; it must be 'B'"),
            (~Q(author__name="A"), "author: name is 'A'; it must not be 'A'"),
            (
                Q(author__name="B") | Q(author__updated_at=None, slug="c"),
                "author: name is 'A'; it must be 'B', or slug is 'b'; it must be 'c'",
            ),
            (~Q(author__book__slug="b"), "it does not meet a condition on: "),
        ],
    )
    def test_what_a_row_refers_to_has_its_names(self, sections, condition, words):
        def some(self: Any) -> Any:
            return Book.objects.filter(condition)

        Book.objects.create(author=Author.objects.create(name="A"), slug="b")
        route = Route("book-detail", slug="slug")
        sections.register(
            "books", model_source(Book, location=route, get_queryset=some)
        )
        [reason] = reasons("/books/b/")
        assert words in reason
        assert "SELECT" not in reason

    @pytest.mark.parametrize(
        ("fields", "words"),
        [
            ((["author"], ["name"]), "author: name is 'A'"),
            ((["author"], []), "you do not see here: author: name"),
            (([], ["name"]), "you do not see here: author: name"),
        ],
    )
    def test_what_a_row_refers_to_is_told_to_who_sees_it(self, sections, fields, words):
        def some(self: Any) -> Any:
            return Book.objects.filter(author__name="B")

        Book.objects.create(author=Author.objects.create(name="A"), slug="b")
        route = Route("book-detail", slug="slug")
        sections.register(
            "books", model_source(Book, location=route, get_queryset=some)
        )
        shown = dict(zip((Book, Author), fields, strict=True))
        found = explain(
            "/books/b/", get_site(), lambda row: ["slug", *shown[type(row)]]
        )
        assert words in found.rows[0].reasons[0]


class TestErrors:
    def test_a_row_without_a_location_has_its_error(self, sections, products):
        def odd(self: Any, product: Product) -> str:
            if product.slug == "product-00003":
                raise ValueError("odd")
            return product.get_absolute_url()

        sections.register("products", model_source(Product, location=odd))
        assert reasons() == ["odd (ValueError)"]
        raises = model_source(Product, location=odd, on_error="raise")
        sections.unregister("products")
        sections.register("products", raises)
        assert any("location): odd" in note for note in explained().notes)

    def test_pages_of_a_source_that_fails(self, sections, products, monkeypatch):
        """So are the other sections."""
        sections.register("products", Published)
        sections.register("others", Listed)
        build_fully()
        monkeypatch.setattr(Published, "get_queryset", lambda self: 1 / 0)
        found = explained()
        assert [it.section for it in found.listings] == ["products", "others"]
        [note] = found.notes
        assert "'products' could not be read: ZeroDivisionError" in note


class TestDelays:
    @pytest.fixture(autouse=True)
    def built(self, sections: Any, products: Any) -> None:
        """Build, and add a row behind the signals' back."""
        sections.register("products", Published)
        build_fully()
        Product.objects.bulk_create([Product(slug="new", name="n", updated_at=START)])

    def test_each_has_its_reason(self, configure):
        def reason() -> str:
            [reason] = reasons("/products/new/")
            return reason

        command = "run manage.py build_sitemaps products"
        assert reason() == f"nobody has recorded that it changed: {command} --full"
        Product.objects.get(slug="new").save()
        assert reason() == f"it waits for a build: {command}"
        Page.objects.filter(section__name="products").update(wanted=9, error="odd")
        assert reason() == "a page of the section could not be built: odd"
        Section.objects.filter(name="products").update(hold_reason="too few")
        held = "the section waits for your approval: too few. To give it"
        assert reason() == f"{held}, {command} --allow-shrink"
        Page.objects.all().delete()
        configure(LIVE_MAX_ROWS=1)
        words = "the section is too large to be served before it is built"
        assert reason() == words

    def test_a_section_that_was_never_built(self, sections):
        """Its pages are rendered on request, and a stored index lists none of them."""
        sections.register("new", limited(2))
        sections.unregister("products")
        waits = "it waits for a build: run manage.py build_sitemaps new"
        assert reasons() == [waits]
        build_fully()
        assert [it.section for it in explained().listings] == ["new"]

    @pytest.mark.database
    @pytest.mark.parametrize("starts", [None, "updated_at"])
    def test_a_time_that_has_come(self, sections, monkeypatch, starts):
        """Or gone; where builds cannot follow the query, the source declares it."""
        later = timezone.now() + timedelta(days=1)
        Product.objects.filter(slug="product-00003").update(updated_at=later)

        def get_queryset(self: Any) -> Any:
            rows = Product.objects.filter(updated_at__lte=timezone.now())
            return Product.objects.filter(pk__in=rows.values("pk")) if starts else rows

        sections.unregister("products")
        given = {"get_queryset": get_queryset, "starts": starts, "lastmod": None}
        sections.register("products", limited(2, **given))
        build_fully()
        assert reasons()[0].startswith("listed from ")
        after = later + timedelta(hours=1)
        monkeypatch.setattr("django.utils.timezone.now", lambda: after)
        words = "its time has come; the next build lists it"
        assert reasons() == [f"{words}: manage.py build_sitemaps products"]
        Worker.objects.create(kind="run", seen_at=Now(), has_ended=False)
        assert reasons() == [words]
        if not starts:
            build_and_relay()
            monkeypatch.setattr("django.utils.timezone.now", lambda: START)
            [note] = explained().notes
            assert "its time is over; the next build removes it" in note

    def test_a_former_url_is_found_where_it_is_still_listed(self):
        Product.objects.filter(slug="product-00003").update(slug="other")
        found = explained()
        assert (found.is_listed, found.rows) == (True, [])
        [lead] = explained("/products/other/").rows
        assert lead.reasons[0].startswith("nobody has recorded that it changed")


@pytest.mark.parametrize(
    ("url", "note"),
    [
        ("/nowhere/", "The site has no page at this address."),
        ("/products/none/", "(view product-detail, {'slug': 'none'})"),
        (
            "https://other.dev/products/product-00003/",
            "It is not on https://example.com",
        ),
    ],
)
def test_a_url_of_no_row_says_where_it_leads(sections, products, url, note):
    sections.register("products", Published)
    found = explained(url)
    assert (found.listings, found.rows) == ([], [])
    assert note in found.notes[0]


@pytest.mark.parametrize("kind", ["removed", "updated"])
def test_one_that_was_removed_says_when(sections, kind):
    """Also where another section cannot be read, which says nothing of it."""
    sections.register("products", limited(6))
    build_fully()
    moments = {"added": "2026-01-01T09:00:00+00:00", kind: "2026-01-02T09:00:00+00:00"}
    latest = [{"url": URL, "kind": it, "at": moments[it]} for it in (kind, "added")]
    row = Section.objects.get(name="products")
    UrlChanges.objects.create(section=row, latest=latest)
    is_told = any(
        "removed from section 'products': 2026-01-02" in it for it in explained().notes
    )
    assert is_told is (kind == "removed")


@pytest.mark.database
def test_engines_have_what_they_answered(sections, products, configure):
    """Each by its last answer; engines that take feeds are left out."""
    sections.register("products", limited(6))
    names = ("new", "waits", "fails", "accepts", "rejects", "forgets")
    configure(ENGINES=dict.fromkeys(names, ENGINE))
    for name in names[1:]:
        Delivery.objects.want("default", name, [URL])
    now = timezone.now()
    rows = {row.engine: row for row in Delivery.objects.all()}
    for name in names[2:]:
        Delivery.objects.of("default", name).claim(1)
        rows[name].refresh_from_db()
    Delivery.objects.filter(engine="forgets").update(wanted=0)
    Delivery.objects.release([rows["fails"]], RetryLater("it is down"))
    Delivery.objects.accept([rows["accepts"]], now)
    Delivery.objects.reject([rows["rejects"]], EngineRefused("bad"), now)
    found = explained().engines
    assert (
        found["new"]
        == found["forgets"]
        == "not submitted yet (a first build is not announced)"
    )
    assert found["waits"].startswith("next submission at 20")
    assert found["fails"].endswith(": it is down")
    assert found["accepts"].startswith("accepted at 20")
    assert found["rejects"] == "rejected: bad"
    key = {"site": "default", "engine": "waits", "host": rows["waits"].host}
    EngineHost.objects.create(**key, parked_reason="no key")
    assert explained().engines["waits"] == "waits until the engine is resumed"
    sections.unregister("products")
    found = explained().engines
    assert found["new"] == "not submitted, since it is not listed"
    assert found["accepts"].startswith("its last submission was accepted at 20")


class TestCommand:
    @pytest.fixture
    def shown(self, run: Any) -> Any:
        """Return what gives what the command writes."""
        return partial(run, "explain_url")

    def test_it_says_where_it_is(self, sections, products, shown):
        sections.register("products", Published)
        live = f"{URL} is on page 2 of section 'products', lastmod 2026-01-01T12:03:00"
        assert shown(URL).startswith(f"{live}+00:00, which is served live.\n")
        build_fully()
        assert "/products/2/" in shown(URL)

    @pytest.mark.parametrize(("has_zones", "zone"), [(True, " CET"), (False, "")])
    def test_the_time_of_a_build_is_that_of_the_site(
        self, sections, products, settings, shown, has_zones, zone
    ):
        settings.TIME_ZONE, settings.USE_TZ = "Europe/Paris", has_zones
        sections.register("products", limited(6))
        build_fully()
        Page.objects.update(
            published_at=datetime(2026, 1, 1, tzinfo=UTC if has_zones else None)
        )
        hour = "01" if has_zones else "00"
        assert f" since 2026-01-01 {hour}:00{zone}.\n" in shown(URL)

    def test_other_versions_are_listed_too(self, sections, products, settings, shown):
        settings.ROOT_URLCONF = "tests.support.urls_i18n"
        sections.register("products", limited(6, languages="all"))
        out = shown("/de/products/product-00003/")
        assert f"Listed too: {ORIGIN}/fr/products/product-00003/ is on page" in out
        assert "Listed instead" not in out

    def test_it_fails_where_it_is_not(self, sections, products, capsys):
        sections.register("products", Published)
        Product.objects.filter(slug="product-00003").update(published=False)
        with pytest.raises(CommandError, match=f"^{URL} is not listed\\.$"):
            call_command("explain_url", URL)
        first, second = capsys.readouterr().out.splitlines()
        row = f"Product {products[3].pk} (Name 99997)"
        assert first == f"It leads to {row} of section 'products'."
        assert second == "  Left out: published is No; it must be Yes."
        Product.objects.filter(slug="product-00003").update(name="\u202eodd\x1b[2J")
        exclude(products[3], by="\u202eada", note="sold \x1b[31mout")
        with pytest.raises(CommandError):
            call_command("explain_url", URL)
        first, second, *_ = capsys.readouterr().out.splitlines()
        assert first.endswith("(\\u202eodd\\x1b[2J) of section 'products'.")
        assert "\\u202eada since" in second
        assert second.endswith(": sold \\x1b[31mout.")
        with pytest.raises(CommandError, match="not listed"):
            call_command("explain_url", f"{ORIGIN}/products/product-00001")
        out = capsys.readouterr().out
        assert f"Listed instead: {ORIGIN}/products/product-00001/ is on" in out
        assert "Its URL is" not in out

    def test_what_could_not_be_read_is_not_said_to_be_missing(self, sections, products):
        def fail(self: Any) -> Any:
            raise ValueError("no")

        sections.register("products", model_source(Product, get_queryset=fail))
        with pytest.raises(CommandError, match=f"^{URL} may be listed or not\\.$"):
            call_command("explain_url", URL)

    def test_what_is_still_listed_is_out_of_date(self, sections, products, shown):
        sections.register("products", Published)
        build_fully()
        Product.objects.filter(slug="product-00003").update(published=False)
        out = shown(URL)
        assert f"{URL} is on page 2" in out
        assert (
            "lists it is out of date: nobody has recorded that it changed: run" in out
        )
        Product.objects.get(slug="product-00003").save()
        assert "out of date: it waits for a build: run" in shown(URL)

    def test_what_cannot_be_explained_has_one_sentence(self, shown, configure):
        with pytest.raises(CommandError, match=r"is not an absolute http"):
            shown("ftp://example.com/")
        with (
            fail_queries(lambda sql: "sitemaps_plus" in sql),
            pytest.raises(CommandError, match=r"^Nothing can be said: Operational"),
        ):
            shown(URL)
        configure(BASE_URL=None)
        with pytest.raises(CommandError, match=r"no origin\. Set"):
            shown(URL)


class TestExcluding:
    """Rows that people exclude: pages follow, and engines are notified."""

    @pytest.fixture
    def products(self, shop: Any) -> list[Product]:
        """Publish some."""
        shop()
        return list(Product.objects.order_by("pk"))

    @pytest.fixture
    def told(self, configure: Any) -> Any:
        """Return what gives the URLs that an engine gets by the next build."""
        configure(
            NOTIFY=True,
            NOTIFY_DELAY_SECONDS=0,
            NOTIFY_INTERVAL_SECONDS=0,
            ENGINES={"one": ENGINE},
        )
        RecordingEngine.clear()

        def told() -> list[str]:
            build_and_relay()
            notify_engines()
            found = RecordingEngine.told()
            RecordingEngine.clear()
            return found

        yield told
        RecordingEngine.clear()

    def test_only_its_page_is_built_and_engines_hear(self, sections, told, crawl):
        products = make_products(6)
        sections.register("products", limited(2))
        build_fully()
        told()
        objects = dict(Page.objects.values_list("number", "object"))
        url = product_urls([2])
        assert exclude(products[2], by="ada", note="sold out")
        assert told() == url
        changed = {
            number
            for number, stored in Page.objects.values_list("number", "object")
            if objects[number] != stored
        }
        assert changed == {0, 2}  # the index, too
        assert crawl()["/sitemap-products-2.xml"] == product_urls([3])
        assert (Page.objects.get(number=2).skipped, Section.objects.count()) == (0, 2)
        assert lift(Exclusion.objects.of_row(products[2]), products[2])
        assert told() == url
        assert crawl()["/sitemap-products-2.xml"] == product_urls([2, 3])
        assert not Exclusion.objects.exists()

    def test_what_is_done_already_changes_nothing(self, products):
        assert exclude(products[0], by="ada", note="first")
        Change.objects.all().delete()
        assert not exclude(products[0], by="bob", note="second")
        assert Exclusion.objects.get().note == "first"
        assert lift(Exclusion.objects.all())
        assert Change.objects.count() == 1
        assert not lift(Exclusion.objects.all())

    def test_a_row_is_marked_in_the_sections_of_its_child(self, sections):
        """The exclusion is that of the first ancestor."""
        cafe = Cafe.objects.create(slug="cafe")
        sections.register("cafes", limited(5, model=Cafe, lastmod=None))
        build_fully()
        Change.objects.all().delete()
        exclude(cafe, by="ada")
        assert Exclusion.objects.get().model == "testapp.place"
        assert Change.objects.get().section == "cafes"
        lift(Exclusion.objects.all())
        assert Change.objects.count() == 2

    def test_one_that_cannot_be_marked_is_not_excluded(self, products, monkeypatch):
        def fail(rows: Any) -> int:
            raise DatabaseError("full")

        monkeypatch.setattr(requests, "notify_changed", fail)
        with pytest.raises(DatabaseError):
            exclude(products[0], by="ada")
        assert not Exclusion.objects.exists()

    def test_one_of_a_model_that_has_gone_can_be_lifted(self):
        Exclusion.objects.create(model="gone.thing", key="1")
        Exclusion.objects.create(model="nonsense", key="1")
        assert lift(Exclusion.objects.all())

    def test_rows_on_another_database(self, sections, settings, other_database, crawl):
        """Their changes lie beside them; a build must not take one too early."""
        products = make_products(3)
        make_tables(other_database)
        settings.DATABASE_ROUTERS = [RowsElsewhere(other_database)]
        sections.register("products", limited(5))
        build_fully()
        with transaction.atomic(using=other_database):
            exclude(products[1], by="ada")
            assert not Change.objects.using("default").exists()
        assert Exclusion.objects.using(other_database).count() == 1
        assert Change.objects.using("default").count() == 1
        build_and_relay()
        assert list(crawl().values()) == [product_urls([0, 2])]
