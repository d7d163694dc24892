"""Pages are key ranges, whatever type the key has."""

from __future__ import annotations

import re
import uuid

import pytest
from django.db import connection
from django.db.models import CASCADE, F, Model, OneToOneField, QuerySet
from django.test.utils import CaptureQueriesContext, isolate_apps
from django.urls import reverse

from django_sitemaps_plus import ModelSource, Route
from django_sitemaps_plus.core.key_ranges import KeyRange
from django_sitemaps_plus.exceptions import SourceError, StalePlanError
from django_sitemaps_plus.sources.querysets import by_key
from tests.support.documents import all_locs, locs, read_urlset
from tests.support.rendered import (
    pages_of,
    plain,
    plan_of,
    queries_of,
    render,
    without_savepoints,
)
from tests.support.shop import ProductSource, limited, make_products, product_urls
from tests.support.testapp.models import Label, Product, Shop

pytestmark = pytest.mark.database


def is_read(sql: str, table: str = "testapp_product") -> bool:
    return table in sql and "SELECT" in sql


class TestKeyTypes:
    def test_integer_keys_part_the_whole_key_space(self):
        """First range from, last to infinity; each page holds its rows in order."""
        keys = [str(product.pk) for product in make_products(25)]
        assert plan_of(limited(10)) == [
            KeyRange(None, keys[10]),
            KeyRange(keys[10], keys[20]),
            KeyRange(keys[20], None),
        ]
        assert [locs(page) for page in pages_of(limited(10))] == [
            product_urls(range(10)),
            product_urls(range(10, 20)),
            product_urls(range(20, 25)),
        ]

    def test_a_page_more_is_not_made_for_no_rows(self):
        """Rows that fill pages exactly leave no empty page behind."""
        make_products(20)
        assert len(plan_of(limited(10))) == 2

    def test_no_rows_make_one_range_that_awaits_them(self):
        """An empty section has one open range."""
        assert plan_of(limited(10)) == [KeyRange(None, None)]
        assert render(limited(10)).document is None

    def test_uuid_keys_list_every_row_once(self):
        """UUIDs are bounds too, in the database's order."""
        Shop.objects.bulk_create([Shop(id=uuid.UUID(int=n * 7919)) for n in range(23)])

        class Source(ModelSource):
            model = Shop
            location = Route("shop-detail", pk="pk")
            limit = 5

        pages = [locs(page) for page in pages_of(Source)]
        assert [len(page) for page in pages] == [4, 4, 4, 4, 4, 3]
        assert sorted(all_locs(pages_of(Source))) == sorted(
            [f"https://example.com/shops/{shop.pk}/" for shop in Shop.objects.all()]
        )

    def test_string_keys_follow_the_order_of_the_database(self):
        """Bounds are compared by the collation of the column, never by Python."""
        codes = ["a", "B", "c", "D", "é", "Ü", "zebra", "Ångström", "10", "9", "_", "%"]
        Label.objects.bulk_create([Label(code=code) for code in codes])

        class Source(ModelSource):
            model = Label
            location = Route("label-detail", code="code")
            limit = 4

        ordered = list(Label.objects.order_by("pk").values_list("pk", flat=True))
        assert [key_range.low for key_range in plan_of(Source)] == [
            None,
            ordered[3],
            ordered[6],
            ordered[9],
        ]
        assert all_locs(pages_of(Source)) == [
            "https://example.com" + reverse("label-detail", kwargs={"code": code})
            for code in ordered
        ]

    def test_the_empty_string_is_a_key(self):
        """A row whose key is "" belongs to the first page."""
        Label.objects.bulk_create([Label(code=code) for code in ("", "a", "b")])

        class Source(ModelSource):
            model = Label
            location = "path"
            limit = 3

            def get_queryset(self):
                return super().get_queryset().annotate(path=F("code"))

        assert plan_of(Source) == [KeyRange(None, "b"), KeyRange("b", None)]
        assert render(Source, KeyRange(None, "b")).tally.skipped == 2
        assert render(Source, KeyRange("", "b")).tally.skipped == 2

    def test_another_unique_column_is_a_key(self):
        """key="slug" cuts by slug."""
        make_products(12)
        source = limited(7, key="slug")
        assert [key_range.low for key_range in plan_of(source)] == [
            None,
            "product-00005",
            "product-00010",
        ]
        assert all_locs(pages_of(source)) == product_urls(range(12))

    def test_a_key_that_does_not_exist_is_a_configuration_error(self):
        """The message names the key and the model."""
        with pytest.raises(SourceError, match=r"'nonsense'.*testapp\.Product"):
            render(limited(5, key="nonsense"))

    def test_bounds_of_another_type_are_a_stale_plan(self):
        """A plan that was cut by slug does not fit an integer key."""
        with pytest.raises(StalePlanError, match="'product-00005' is not a pk"):
            render(ProductSource, KeyRange("product-00005"))


class TestRowsThatComeAndGo:
    def test_a_deleted_row_leaves_other_pages_as_they_are(self):
        """Ranges stay, so a page changes by its own rows alone."""
        products = make_products(30)
        plan = plan_of(limited(10))
        before = [plain(render(limited(10), part)) for part in plan]
        products[3].delete()
        after = [plain(render(limited(10), part)) for part in plan]
        assert locs(after[0]) == product_urls([0, 1, 2, *range(4, 10)])
        assert after[1:] == before[1:]

    def test_a_new_row_is_in_the_last_range(self):
        """The last range is open, so a growing key falls into it."""
        make_products(15)
        plan = plan_of(limited(10))
        make_products(1, first=15)
        assert locs(plain(render(limited(10), plan[-1]))) == product_urls(range(10, 16))


class TestQueries:
    """What the database is asked to do."""

    @pytest.mark.parametrize("method", [False, True])
    def test_a_page_is_one_bounded_query(self, method):
        """No OFFSET, no COUNT, ordered by the key alone, with a LIMIT."""
        keys = [product.pk for product in make_products(30)]
        attributes = {"priority": lambda self, product: 0.5} if method else {}
        source = limited(10, **attributes)
        key_range = KeyRange(str(keys[10]), str(keys[20]))
        reads = [sql for sql in queries_of(source, key_range) if is_read(sql)]
        assert len(reads) == 1
        assert "OFFSET" not in reads[0].upper()
        assert "COUNT(" not in reads[0].upper()
        order = r"ORDER BY [\"`]testapp_product[\"`]\.[\"`]id[\"`] ASC\s+LIMIT 12\b"
        assert re.search(order, reads[0])

    def test_another_key_is_what_the_query_is_ordered_by(self):
        """key="slug" orders by slug alone."""
        make_products(3)
        reads = queries_of(limited(10, key="slug"), KeyRange("a", "z"))
        assert re.search(r"ORDER BY \S+slug[\"`] ASC\s+LIMIT", reads[-1])

    @isolate_apps("tests.support.testapp")
    def test_a_key_that_is_a_relation_is_ordered_by_its_own_column(self):
        """Not by the ordering of the model behind it, as order_by() would have it."""

        class Offer(Model):
            product = OneToOneField(Product, CASCADE)

            class Meta:
                app_label = "testapp"

            def __str__(self):
                return "an offer"

        sql = str(by_key(Offer.objects.all(), "product").query)
        assert sql.split("ORDER BY ")[1].replace("`", '"') == (
            '"testapp_offer"."product_id" ASC'
        )

    @pytest.mark.parametrize(
        "order",
        [
            lambda rows: rows.order_by("-name"),
            lambda rows: rows.order_by("?"),
            lambda rows: rows.reverse(),
            lambda rows: rows.order_by("name").reverse(),
            lambda rows: rows.extra(order_by=["-name"]),
        ],
    )
    def test_the_order_of_the_queryset_does_not_count(self, order):
        """Whatever order the user's queryset has, pages are in that of the key."""
        make_products(7)
        source = limited(3, get_queryset=lambda self: order(Product.objects.all()))
        assert [locs(page) for page in pages_of(source)] == [
            product_urls(range(3)),
            product_urls(range(3, 6)),
            product_urls([6]),
        ]

    def test_a_queryset_that_selects_in_its_own_order_is_read_in_ours(self):
        """Those of django-modeltranslation undo it where they are iterated over."""

        class Shuffling(QuerySet):
            def values_list(self, *fields, **options):
                return super().values_list(*reversed(fields), **options)

        [product] = make_products(1)
        [entry] = read_urlset(
            plain(render(limited(10, get_queryset=lambda it: Shuffling(Product))))
        )
        assert entry.loc.endswith(product.get_absolute_url())
        assert entry.lastmod == product.updated_at.isoformat()

    def test_hops_are_bounded(self):
        """A first plan takes one query a page, none of which skips more than a page.

        Four more render the first rows, to judge the bytes of a page.
        """
        make_products(50)
        with CaptureQueriesContext(connection) as captured:
            assert len(plan_of(limited(10))) == 5
        queries = without_savepoints(captured)
        assert len(queries) == 6 + 4
        skipped = [
            int(number)
            for sql in queries
            for number in re.findall(r"OFFSET (\d+)", sql)
        ]
        assert skipped == [10] * (5 + 1)
