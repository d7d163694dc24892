"""What get_queryset may return, and what not."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db.models import CharField, F, Value
from django.db.models.functions import Concat

from django_sitemaps_plus import ModelSource, Route
from django_sitemaps_plus.core.limits import LimitExceededError
from django_sitemaps_plus.exceptions import SourceError
from tests.support.documents import all_locs, locs
from tests.support.rendered import pages_of, plain, plan_of, render
from tests.support.shop import ProductSource, limited, make_products
from tests.support.testapp.models import Author, Book, Product, Tag

pytestmark = [pytest.mark.database, pytest.mark.django_db]


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
