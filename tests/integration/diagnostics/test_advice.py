"""Advice: how fast a section is, and which route gives the URLs of its method."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.db.models import F
from django.urls import include, path, re_path, reverse

from django_sitemaps_plus import Entry, ModelSource, Source, ViewSource
from django_sitemaps_plus.conf import Site
from django_sitemaps_plus.diagnostics import advice
from django_sitemaps_plus.diagnostics.advice import Advice, advise
from tests.integration.sources import contrib_zoo as zoo
from tests.support.shop import ProductSource, limited, make_products
from tests.support.testapp.models import Author, Book, Country, Product, Town
from tests.support.urls import view

SLUG_LINE = 'location = Route("product-detail", slug="slug")'


class Plain(ModelSource):
    """The object's own URL."""

    model = Product


def plain(**attributes: Any) -> type[Plain]:
    """Return that source with other attributes."""
    return type("Changed", (Plain,), attributes)


class OwnPages(zoo.OwnPaginator):
    """Other pages of a queryset."""

    def items(self) -> Any:
        return Product.objects.order_by("pk")


def own_url(self: Any, product: Product) -> str:
    """Be the method of a source."""
    return product.get_absolute_url()


def half(self: Any, product: Product) -> float:
    """Be another method of it."""
    return 0.5


def one_entry(self: Any, origin: str) -> Any:
    """Be all entries of a source."""
    yield Entry(f"{origin}/home/")


@pytest.fixture(autouse=True)
def any_speed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Suggest what is slower too, since a few rows take no time."""
    monkeypatch.setattr(advice, "MIN_FACTOR", 0)


@pytest.fixture
def advice_on(sections: Any) -> Callable[..., Advice]:
    """Return what gives the advice on a source."""

    def advice_on(source: Any, prefix: str = "/", **options: Any) -> Advice:
        sections.register("it", source)
        found = advise("it", Site("default", "https://example.com", prefix), **options)
        sections.unregister("it")
        return found

    return advice_on


@pytest.fixture
def line_of(advice_on: Callable[..., Advice]) -> Callable[..., str | None]:
    """Return what gives the line that is suggested for a source that can be read."""

    def line_of(source: Any, *prefix: str) -> str | None:
        found = advice_on(source, *prefix)
        assert (found.problem, found.entries_per_second is None) == ("", False)
        return found.suggestion and found.suggestion.line

    return line_of


@pytest.fixture
def line_at(line_of: Any, settings: Any) -> Callable[..., str | None]:
    """Return what gives the line for rows whose arguments are those of a pattern."""

    def line_at(model: Any, pattern: Any, arguments: Callable[[Any], Any]) -> Any:
        settings.ROOT_URLCONF = type("URLs", (), {"urlpatterns": [pattern]})
        located = {"location": lambda _, row: reverse("row", kwargs=arguments(row))}
        return line_of(plain(model=model, **located))

    return line_at


@pytest.fixture
def towns() -> None:
    """Add towns of two countries."""
    for code, name in (("fr", "france"), ("it", "italia")):
        country = Country.objects.create(code=code, name=name)
        for number in range(2):
            Town.objects.create(country=country, slug=f"{code} {number}")


class TestForms:
    @pytest.mark.parametrize(
        ("source", "form"),
        [
            (ProductSource, "columns"),
            (
                limited(10, languages=["de"], get_languages=lambda self, row: None),
                "instances: get_languages",
            ),
            (Plain, "instances: get_absolute_url"),
            (plain(location=own_url, priority=half), "instances: location, priority"),
            (zoo.Plain, "contrib class, by key"),
            (zoo.OfList, "contrib class, by position"),
            (zoo.OwnUrls, "contrib class with its own paging"),
            (type("Pages", (ViewSource,), {"views": ("home",)}), "views"),
            (type("Entries", (Source,), {"entries": one_entry}), "entries()"),
        ],
    )
    def test_each_is_named_and_measured(self, advice_on, source, form):
        make_products(5)
        found = advice_on(source)
        assert (found.form, found.problem) == (form, "")
        assert found.entries_per_second > 0

    @pytest.mark.parametrize(("codes", "rows"), [([], 20), (["en", "de"], 10)])
    def test_more_than_a_page_is_measured(self, advice_on, monkeypatch, codes, rows):
        """The sample ends where it is full, whatever a page holds."""
        make_products(25)
        monkeypatch.setattr(advice, "SAMPLE_ENTRIES", 20)
        seen = set()

        def location(self: Any, product: Product) -> str:
            seen.add(product.pk)
            return product.get_absolute_url()

        source = plain(limit=10, languages=codes, location=location)
        assert advice_on(source).problem == ""
        assert len(seen) == rows


class TestSuggestions:
    def test_what_is_not_faster_is_not_suggested(self, line_of, monkeypatch):
        """The source stays as it is, whatever is tried."""
        make_products(5)
        source = Plain()
        assert line_of(source) == SLUG_LINE
        assert source.location is None
        monkeypatch.setattr(advice, "MIN_FACTOR", 1_000_000)
        assert line_of(source) is None

    @pytest.mark.parametrize(
        "change",
        [
            lambda url: f"{url}?from=sitemap",
            lambda url: url.replace("-00002", "-2"),
            lambda url: url.replace("products", "about"),
            lambda url: "/about/" if "-00002" in url else url,
            lambda url: f"https://elsewhere.example{url}",
            lambda url: None if "-00002" in url else url,
        ],
    )
    def test_another_url_of_one_row_gives_none(self, advice_on, change):
        """Every row of the sample counts, also one that the route alone would list."""
        make_products(5)
        source = plain(location=lambda _, product: change(product.get_absolute_url()))
        found = advice_on(source)
        assert (found.suggestion, found.problem) == (None, "")

    def test_rows_that_neither_lists_are_no_difference(self, line_of, messages):
        """They are not logged either: a build does that."""
        make_products(5)
        Product.objects.filter(slug="product-00002").update(slug="no slug")
        assert line_of(Plain) == SLUG_LINE
        assert messages("row_skipped") == []

    def test_language_and_prefix_are_those_of_the_site(self, line_of, settings):
        """They are no part of the route."""
        settings.ROOT_URLCONF = "tests.support.urls_i18n"
        settings.LANGUAGE_CODE = "de"
        make_products(5)
        assert line_of(Plain, "/shop/") == SLUG_LINE

    @pytest.mark.parametrize("sitemap", [zoo.Plain, zoo.generic(), zoo.Deferred])
    def test_contrib_class_by_key_may_become_a_source(self, advice_on, sitemap):
        make_products(5)
        found = advice_on(sitemap).suggestion
        assert found.line == f"As a ModelSource: {SLUG_LINE}"

    @pytest.mark.parametrize(
        "sitemap", [zoo.OfList, OwnPages, zoo.InLanguages, zoo.Http]
    )
    def test_other_contrib_classes_stay(self, line_of, sitemap):
        """Without keys, with other pages, more entries a row or another scheme."""
        make_products(5)
        assert line_of(sitemap) is None


class TestFields:
    def test_values_behind_a_foreign_key(self, line_at, towns):
        """A key itself needs no join."""
        line = line_at(
            Town,
            path("<int:pk>/<country>/<name>/<slug>/", view, name="row"),
            lambda town: {
                "pk": town.pk,
                "country": town.country_id,
                "name": town.country.name,
                "slug": town.slug,
            },
        )
        arguments = 'pk="pk", country="country_id", name="country__name", slug="slug"'
        assert line == f'location = Route("row", {arguments})'

    @pytest.mark.parametrize(
        ("kind", "name", "attribute", "expected"),
        [
            ("slug", "slug", "slug", "slug"),
            ("slug", "author_name", "slug", "author__name"),
            ("slug", "other", "slug", "slug"),
            ("int", "number", "author_id", "pk"),
        ],
    )
    def test_equal_fields(self, line_at, kind, name, attribute, expected):
        """Its own name first, with `__` as `_`; else what needs no join."""
        for number in range(1, 4):
            author = Author.objects.create(pk=number, name=f"book-{number}")
            Book.objects.create(pk=number, author=author, slug=f"book-{number}")
        line = line_at(
            Book,
            path(f"<{kind}:{name}>/", view, name="row"),
            lambda book: {name: getattr(book, attribute)},
        )
        assert line == f'location = Route("row", {name}="{expected}")'

    def test_one_value_is_too_little_where_two_fields_have_it(self, line_at):
        pattern = path("<slug>/", view, name="row")
        Product.objects.create(name="one", slug="one")
        assert line_at(Product, pattern, lambda row: {"slug": row.slug}) is None
        Product.objects.update(name="other")
        assert line_at(Product, pattern, lambda row: {"slug": row.slug}) is not None

    def test_what_a_foreign_key_refers_to_is_its_own_value(self, line_at):
        """So one row is enough, and no join is needed."""
        country = Country.objects.create(code="fr", name="france")
        Town.objects.create(country=country, slug="x")
        pattern = path("<country_code>/", view, name="row")
        line = line_at(Town, pattern, lambda town: {"country_code": town.country.code})
        assert line == 'location = Route("row", country_code="country_id")'

    def test_an_include_may_capture_arguments(self, line_at):
        """Or give some of its own, as the pattern may: they need no field."""
        make_products(5)
        inner = [path("<slug:slug>/", view, {"size": 3}, name="row")]
        pattern = path("<int:number>/", include(inner), {"page": 7})
        line = line_at(
            Product, pattern, lambda row: {"number": row.pk, "slug": row.slug}
        )
        assert line == 'location = Route("row", number="pk", slug="slug")'

    def test_every_row_of_the_sample_counts(self, line_at):
        """The name differs in the last row, so it is not what the pattern takes."""
        make_products(30)
        last = Product.objects.get(slug="product-00029")
        Product.objects.exclude(pk=last.pk).update(name=F("slug"))
        pattern = path("<name>/", view, name="row")
        line = line_at(Product, pattern, lambda product: {"name": product.slug})
        assert line == 'location = Route("row", name="slug")'

    @pytest.mark.parametrize(
        "pattern",
        [
            re_path(r"^products/([\w-]+)/$", view, name="row"),
            path("products/<slug>/", view),
            path("products/<path:slug>", view, name="row"),
            path("elsewhere/", view, name="row"),
        ],
    )
    def test_what_has_no_name_or_field_gives_none(self, line_of, settings, pattern):
        """As do patterns without a name, and URLs without a pattern."""
        settings.ROOT_URLCONF = type("URLs", (), {"urlpatterns": [pattern]})
        make_products(5)
        source = plain(location=lambda _, row: f"/products/{row.slug}/")
        assert line_of(source) is None

    @pytest.mark.database
    def test_a_query_that_fails_is_no_problem_of_the_section(self, line_of, towns):
        """A join makes its condition ambiguous; the caller's transaction goes on."""

        class Extra(ModelSource):
            model = Town

            def get_queryset(self) -> Any:
                return super().get_queryset().extra(where=["id > 0"])

            def location(self, town: Town) -> str:
                return f"/books/{town.country.name}/"

        assert line_of(Extra) is None
        assert Town.objects.count() == 4


class TestVerifying:
    @pytest.fixture(autouse=True)
    def small_sample(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Have rows beyond the sample, more than may be read at once."""
        monkeypatch.setattr(advice, "SAMPLE_ENTRIES", 5)
        monkeypatch.setattr(advice, "MAX_ENTRIES", 10)
        make_products(25)

    @pytest.mark.parametrize("base", [Plain, zoo.Plain])
    def test_all_rows_are_compared(self, advice_on, base):
        found = advice_on(type("Small", (base,), {"limit": 10}), verify=True)
        assert (found.verified_rows, found.problem) == (25, "")
        assert found.suggestion is not None

    @pytest.mark.parametrize("base", [Plain, zoo.Plain])
    @pytest.mark.parametrize(
        ("slug", "url", "said"),
        [
            ("product-00017", "/special/", "not https://example.com/special/"),
            ("product-00024", None, "not no URL"),  # it has none today
        ],
    )
    def test_the_first_difference_is_named(self, advice_on, base, slug, url, said):
        """It is beyond the sample, so only the comparison finds it."""

        def location(self: Any, product: Product) -> str | None:
            return url if product.slug >= slug else product.get_absolute_url()

        source = type("Small", (base,), {"limit": 10, "location": location})
        assert advice_on(source).suggestion is not None
        found = advice_on(source, verify=True)
        assert (found.suggestion, found.verified_rows) == (None, None)
        gives = f"{SLUG_LINE} gives https://example.com/products/{slug}/"
        assert found.problem.endswith(f"{gives}, {said}")

    def test_a_source_that_fails_later_suggests_nothing(self, advice_on):
        def location(self: Any, product: Product) -> str:
            if product.slug == "product-00020":
                raise ValueError("odd")
            return product.get_absolute_url()

        source = plain(limit=10, on_error="raise", location=location)
        assert advice_on(source).suggestion is not None
        found = advice_on(source, verify=True)
        assert found.suggestion is None
        assert "could not be read: ValueError (Product " in found.problem
