"""What a model source declares becomes an entry, from tuples or from instances."""

from __future__ import annotations

from typing import Any

import pytest
from django.db.models import CharField, F, Value
from django.db.models.functions import Coalesce, Concat, Lower

from django_sitemaps_plus import Alternate, Image, ModelSource, Route
from django_sitemaps_plus.core.key_ranges import KeyRange
from tests.support.documents import Listed, locs, read_urlset
from tests.support.rendered import plain, queries_of, render
from tests.support.shop import START, ProductSource, make_products
from tests.support.testapp.models import Author, Book, Product

pytestmark = pytest.mark.database


@pytest.fixture
def no_instances(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make every product that is built an error."""

    def refuse(*args: Any, **kwargs: Any) -> None:
        raise AssertionError("a model instance was built")

    monkeypatch.setattr(Product, "from_db", classmethod(refuse))
    monkeypatch.setattr(Product, "__init__", refuse)


def make_varied() -> None:
    """Add products of which each lacks something else."""
    make_products(6)
    rows = Product.objects.order_by("pk")
    for number, product in enumerate(list(rows)):
        rows.filter(pk=product.pk).update(
            updated_at=None if number == 1 else product.updated_at,
            popularity=None if number == 2 else number / 8,
            frequency="sometimes" if number == 3 else "daily",
        )


class Declared(ProductSource):
    """Every field a column."""

    changefreq = "frequency"
    priority = "popularity"


class TestTuplesAndInstances:
    """Rows, not objects, as long as nothing asks for an object."""

    def test_a_declared_source_with_rows_builds_no_instance(self, request):
        """The same with rows to render."""
        make_varied()
        request.getfixturevalue("no_instances")
        assert render(Declared).tally.entries == 6

    def test_constants_and_expressions_build_no_instance(self, request):
        """A constant or an expression asks for no object either."""
        make_varied()
        request.getfixturevalue("no_instances")

        class Source(ModelSource):
            model = Product
            location = Concat(Value("/p/"), Lower("slug"), output_field=CharField())
            changefreq = "weekly"
            priority = 0.25
            lastmod = F("updated_at")

        assert render(Source).tally.entries == 6

    def test_one_method_makes_all_rows_instances(self):
        """The method gets the object; the declared fields stay as they are."""
        products = make_products(3)
        seen = []

        class Source(ProductSource):
            def priority(self, product):
                seen.append(product)
                return 0.5

        entries = read_urlset(plain(render(Source)))
        assert seen == products
        assert [entry.lastmod for entry in entries] == [
            f"2026-01-01T12:0{number}:00+00:00" for number in range(3)
        ]

    def test_without_location_the_object_is_asked(self):
        """get_absolute_url() is the default, as in contrib."""
        make_products(2)

        class Source(ModelSource):
            model = Product

        assert locs(plain(render(Source))) == [
            "https://example.com/products/product-00000/",
            "https://example.com/products/product-00001/",
        ]

    @pytest.mark.parametrize(
        "method",
        [
            {"location": lambda self, row: row.get_absolute_url()},
            {"lastmod": lambda self, row: row.updated_at},
            {"changefreq": lambda self, row: row.frequency},
            {"priority": lambda self, row: row.popularity},
            {"images": lambda self, row: ()},
        ],
        ids=lambda method: next(iter(method)),
    )
    def test_tuples_and_instances_give_the_same_bytes(self, method):
        """Whatever is declared or a method, the entries are the same."""
        make_varied()
        by_tuples = render(Declared)
        by_instances = render(type("Methods", (Declared,), method))
        assert read_urlset(plain(by_tuples)) == read_urlset(plain(by_instances))
        if "images" not in method:
            assert plain(by_tuples) == plain(by_instances)
        assert by_tuples.tally.dropped == by_instances.tally.dropped == 1

    def test_every_instance_is_rendered_when_there_are_many(self):
        """No row is lost or doubled at the seams of the batches."""
        make_products(2_101)

        class Source(ProductSource):
            def changefreq(self, product):
                return None

        assert plain(render(Source)) == plain(render(ProductSource))
        assert render(Source).tally.entries == 2_101


class TestDeclarations:
    """Paths, expressions, constants and columns."""

    def test_a_path_may_cross_a_relation(self):
        """Route arguments and lastmod may be a related row's."""
        author = Author.objects.create(name="ada", updated_at=START)
        Book.objects.create(author=author, slug="notes")

        class Source(ModelSource):
            model = Book
            location = Route("product-detail", slug="author__name")
            lastmod = "author__updated_at"

        expected = "https://example.com/products/ada/"
        assert read_urlset(plain(render(Source))) == [
            Listed(expected, "2026-01-01T12:00:00+00:00")
        ]

    def test_a_path_across_a_relation_costs_no_query_a_row(self):
        """It is joined, for tuples as for instances."""
        author = Author.objects.create(name="ada", updated_at=START)
        Book.objects.bulk_create(
            [Book(author=author, slug=f"book-{n}") for n in range(9)]
        )

        class Source(ModelSource):
            model = Book
            location = Route("book-detail", slug="slug")
            lastmod = "author__updated_at"

        class Methods(Source):
            def priority(self, book):
                return 0.5

        for source in (Source, Methods):
            assert len(queries_of(source, KeyRange())) == 1
            assert render(source).tally.entries == 9

    def test_expressions_are_worked_out_by_the_database(self):
        """F, Concat and Coalesce are selected like columns."""
        make_products(1, popularity=None)

        class Source(ModelSource):
            model = Product
            location = Concat(Value("/x/"), F("slug"), output_field=CharField())
            lastmod = F("updated_at")
            priority = Coalesce("popularity", Value(0.75))

        assert read_urlset(plain(render(Source))) == [
            Listed(
                "https://example.com/x/product-00000",
                "2026-01-01T12:00:00+00:00",
                None,
                "0.75",
            )
        ]

    def test_a_route_takes_expressions(self):
        """An argument of a Route may be an expression."""
        make_products(1)

        class Source(ModelSource):
            model = Product
            location = Route("product-detail", slug=Concat(F("slug"), Value("-x")))

        assert locs(plain(render(Source))) == [
            "https://example.com/products/product-00000-x/"
        ]

    def test_a_route_argument_that_is_null_is_no_url(self):
        """reverse() would write "None" into the URL."""
        make_products(2)
        Product.objects.order_by("pk")[1].delete()

        class Source(ModelSource):
            model = Product
            location = Route("label-detail", code="popularity")

        page = render(Source)
        assert (page.tally.entries, page.tally.skipped) == (0, 1)
        assert "code of its URL is None" in page.tally.problems[0]

    def test_extensions_come_from_methods(self):
        """Images and alternates of an object are elements of its entry."""
        make_products(1)

        class Source(ProductSource):
            def images(self, product):
                return [Image(f"https://cdn.example/{product.slug}.jpg")]

            def alternates(self, product):
                return [Alternate("de", f"https://example.com/de/{product.slug}/")]

        content = plain(render(Source))
        assert read_urlset(content)[0].alternates == (
            ("de", "https://example.com/de/product-00000/"),
        )
        assert b"<image:loc>https://cdn.example/product-00000.jpg<" in content
