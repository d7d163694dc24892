"""What get_queryset may return, and what not."""

from __future__ import annotations

from datetime import timedelta
from itertools import chain

import pytest
from django.db.models import CharField, F, FilteredRelation, Q, Value
from django.db.models.functions import Concat

from django_sitemaps_plus import ModelSource, Route
from django_sitemaps_plus.checks import check_sources
from django_sitemaps_plus.core.limits import LimitExceededError
from django_sitemaps_plus.exceptions import SourceError
from django_sitemaps_plus.testing import tracking
from tests.support.builds import build_and_relay
from tests.support.documents import all_locs, locs, read_urlset
from tests.support.joins import joined
from tests.support.rendered import pages_of, plain, plan_of, render
from tests.support.shop import (
    START,
    ProductSource,
    limited,
    make_products,
    product_urls,
)
from tests.support.testapp.models import Author, Book, Product, Tag

pytestmark = pytest.mark.database


def products():
    """Return all products."""
    return Product.objects.all()


class TestQuerysets:
    """What get_queryset may return."""

    @pytest.mark.parametrize(
        "queryset",
        [
            lambda: Product.objects.all()[:5],
            lambda: Product.objects.values("slug"),
            lambda: Product.objects.values_list("slug"),
            lambda: Product.objects.all().union(Product.objects.all()),
            lambda: Product.objects.distinct("name"),
            lambda: list(Product.objects.all()),
        ],
    )
    def test_what_has_no_key_ranges_is_refused(self, queryset):
        """The error names the source and says what to use instead."""
        source = limited(5, get_queryset=lambda self: queryset())
        with pytest.raises(SourceError, match=r"LimitedSource.*Use Source"):
            render(source)

    def test_filters_relations_and_distinct_may_be_used(self):
        """Rows doubled by a join are single again with distinct()."""
        author = Author.objects.create(name="A")
        tags = [Tag.objects.create(name=f"tag {n}") for n in range(3)]
        for number in range(4):
            book = Book.objects.create(author=author, slug=f"book-{number}")
            book.tags.set(tags[: number % 3 + 1])

        class Source(ModelSource):
            model = Book
            location = Route("book-detail", slug="slug")
            limit = 3

            def get_queryset(self):
                books = super().get_queryset().select_related("author")
                books = books.prefetch_related("tags").filter(tags__name__gte="tag")
                return books.distinct()

        assert all_locs(pages_of(Source)) == [
            f"https://example.com/books/book-{number}/" for number in range(4)
        ]

    def test_rows_doubled_by_a_join_end_the_plan_all_the_same(self):
        """More rows of one key than a page holds do not make an endless plan."""
        author = Author.objects.create(name="A")
        book = Book.objects.create(author=author, slug="book")
        book.tags.set([Tag.objects.create(name=f"tag {n}") for n in range(9)])
        Book.objects.create(author=author, slug="next").tags.set(Tag.objects.all()[:1])

        class Source(ModelSource):
            model = Book
            location = Route("book-detail", slug="slug")
            limit = 3

            def get_queryset(self):
                return super().get_queryset().filter(tags__name__gte="tag")

        assert len(plan_of(Source)) == 2

    def test_an_annotation_can_be_declared(self):
        """A name that get_queryset adds is a field path like any other."""
        make_products(2)

        class Source(ProductSource):
            location = "address"

            def get_queryset(self):
                address = Concat(Value("/p/"), "slug", output_field=CharField())
                return super().get_queryset().annotate(address=address)

        assert locs(plain(render(Source))) == [
            f"https://example.com/p/product-{number:05}" for number in range(2)
        ]

    @pytest.mark.parametrize("rows", [1, 2])
    def test_another_library_may_join_tables(self, rows, publish, crawl, sections):
        """Its join may repeat rows, each of which is listed once."""
        made = make_products(22)
        source = limited(10, get_queryset=lambda self: joined(products(), rows))
        sections.register("products", source)
        expected = product_urls(range(22))
        assert sorted(chain(*crawl().values())) == expected
        publish(source)
        pages = crawl()
        assert len(pages) >= 3
        assert sorted(chain(*pages.values())) == expected
        made[5].slug = "product-00030"
        made[5].save()
        publish(source)
        assert sorted(chain(*crawl().values()))[-1] == product_urls([30])[0]

    @pytest.mark.parametrize("priority", [0.5, lambda self, book: 0.5])
    def test_the_alias_of_a_filtered_relation_can_be_declared(
        self, priority, publish, crawl, sections, client
    ):
        """As any other path: the check, live pages and built ones know it."""
        times = {"A": START, "B": START + timedelta(days=1)}
        authors = [
            Author.objects.create(name=n, updated_at=t) for n, t in times.items()
        ]
        for number in range(25):
            author = authors[number % 2]
            Book.objects.create(author=author, slug=f"book-{number:02}")

        class Source(ModelSource):
            model = Book
            location = Route("book-detail", slug="slug")
            lastmod = "writer__updated_at"
            limit = 10
            watch = {Author: "book"}

            def get_queryset(self):
                condition = Q(author__name="B")
                writer = FilteredRelation("author", condition=condition)
                return super().get_queryset().annotate(writer=writer)

        def lastmods():
            return [
                listed.lastmod
                for path in crawl()
                for listed in read_urlset(client.get(path).content)
            ]

        Source.priority = priority
        sections.register("products", Source)
        assert check_sources() == []
        expected = [None, "2026-01-02T12:00:00+00:00"] * 12 + [None]
        assert lastmods() == expected
        publish(Source)
        assert lastmods() == expected
        authors[0].name = "B"
        with tracking():
            authors[0].save()
        build_and_relay()
        assert None not in lastmods()

    def test_one_row_too_many_is_noticed(self):
        """A page may hold a tenth more than its limit, not one more."""
        make_products(11)
        assert render(limited(10)).tally.entries == 11
        make_products(1, first=11, updated_at=None)
        with pytest.raises(LimitExceededError, match="more than 11 entries"):
            render(limited(10))

    def test_filtered_rows_do_not_count(self):
        """Rows that the queryset leaves out fill no page."""
        make_products(20)
        Product.objects.filter(slug__endswith="1").update(published=False)

        class Source(ProductSource):
            limit = 9

            def get_queryset(self):
                return super().get_queryset().filter(published=True)

        pages = pages_of(Source)
        assert [len(locs(page)) for page in pages] == [9, 9]
        Product.objects.update(updated_at=F("updated_at") + timedelta(days=1))
        assert pages_of(Source) != pages
