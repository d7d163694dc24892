"""Pages are ranges of keys of any type, or else of positions."""

import re
import uuid
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from inspect import isfunction
from itertools import chain
from typing import Any

import pytest
from django.contrib.sitemaps import GenericSitemap, Sitemap
from django.db import connection, models
from django.db.models import (
    CASCADE,
    CharField,
    F,
    Model,
    OneToOneField,
    QuerySet,
    Value,
)
from django.db.models.functions import Concat
from django.test.utils import CaptureQueriesContext, isolate_apps
from django.urls import reverse

from django_sitemaps_plus import ModelSource, Route
from django_sitemaps_plus.checks import check_sources
from django_sitemaps_plus.core.key_ranges import KeyRange
from django_sitemaps_plus.exceptions import SourceError, StalePlanError
from django_sitemaps_plus.registry import registry
from django_sitemaps_plus.sources import Tally, reader_of, surroundings
from django_sitemaps_plus.sources.contrib import SitemapSource
from django_sitemaps_plus.sources.keys import KeySpace, has_text
from django_sitemaps_plus.sources.querysets import by_key
from tests.integration.sources import contrib_zoo as zoo
from tests.support.builds import build_and_relay, pass_grace
from tests.support.documents import all_locs, locs, read_urlset
from tests.support.rendered import (
    SITE,
    pages_of,
    plain,
    plan_of,
    queries_of,
    render,
    without_savepoints,
)
from tests.support.shop import ProductSource, limited, make_products, product_urls
from tests.support.testapp.models import (
    Blob,
    Coin,
    Label,
    Product,
    Seat,
    Shop,
    Stamp,
    Ticket,
)

pytestmark = pytest.mark.database


def keyed(model: Any, location: Any, **attributes: Any) -> Any:
    own = {"model": model, "location": location, **attributes}
    return type("Keyed", (ModelSource,), own)


class TestKeyTypes:
    def test_integer_keys_part_the_whole_key_space(self):
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
        assert plan_of(limited(10)) == [KeyRange(None, None)]
        assert render(limited(10)).document is None
        make_products(20)
        assert len(plan_of(limited(10))) == 2

    def test_uuid_keys_list_every_row_once(self):
        Shop.objects.bulk_create([Shop(id=uuid.UUID(int=n * 7919)) for n in range(23)])
        source = keyed(Shop, Route("shop-detail", pk="pk"), limit=5)
        pages = [locs(page) for page in pages_of(source)]
        assert [len(page) for page in pages] == [4, 4, 4, 4, 4, 3]
        assert sorted(chain(*pages)) == sorted(
            [f"https://example.com/shops/{shop.pk}/" for shop in Shop.objects.all()]
        )

    def test_string_keys_follow_the_order_of_the_database(self):
        """Bounds are compared by the collation of the column, never by Python."""
        codes = ["a", "B", "c", "D", "é", "Ü", "zebra", "Ångström", "10", "9", "_", "%"]
        Label.objects.bulk_create([Label(code=code) for code in codes])
        source = keyed(Label, Route("label-detail", code="code"), limit=4)
        ordered = list(Label.objects.order_by("pk").values_list("pk", flat=True))
        assert [part.low for part in plan_of(source)] == [None, *ordered[3::3]]
        assert all_locs(pages_of(source)) == [
            "https://example.com" + reverse("label-detail", kwargs={"code": code})
            for code in ordered
        ]

    def test_the_empty_string_is_a_key(self):
        Label.objects.bulk_create([Label(code=code) for code in ("", "a", "b")])
        source = keyed(Label, F("code"), limit=3)
        assert plan_of(source) == [KeyRange(None, "b"), KeyRange("b", None)]
        assert render(source, KeyRange(None, "b")).tally.skipped == 2
        assert render(source, KeyRange("", "b")).tally.skipped == 2

    def test_another_unique_column_is_a_key(self):
        make_products(12)
        source = limited(7, key="slug")
        assert [key_range.low for key_range in plan_of(source)] == [
            *(None, "product-00005", "product-00010")
        ]
        assert all_locs(pages_of(source)) == product_urls(range(12))

    def test_a_key_that_does_not_exist_is_a_configuration_error(self):
        with pytest.raises(SourceError, match=r"'nonsense'.*testapp\.Product"):
            render(limited(5, key="nonsense"))

    def test_bounds_of_another_type_are_a_stale_plan(self):
        with pytest.raises(StalePlanError, match="'product-00005' is not a pk"):
            render(ProductSource, KeyRange("product-00005"))


def test_rows_that_come_and_go_leave_other_pages_as_they_are():
    """The last range is open, so a growing key falls into it."""
    products = make_products(25)
    plan = plan_of(limited(10))
    before = [plain(render(limited(10), part)) for part in plan]
    products[3].delete()
    make_products(1, first=25)
    after = [plain(render(limited(10), part)) for part in plan]
    assert locs(after[0]) == product_urls([0, 1, 2, *range(4, 10)])
    assert after[1] == before[1]
    assert locs(after[2]) == product_urls(range(20, 26))


class TestQueries:
    @pytest.mark.parametrize("method", [False, True])
    def test_a_page_is_one_bounded_query(self, method):
        attributes = {"priority": lambda self, product: 0.5} if method else {}
        reads = queries_of(limited(10, **attributes), KeyRange("10", "20"))
        [read] = [it for it in reads if "testapp_product" in it and "SELECT" in it]
        assert "OFFSET" not in read.upper()
        assert "COUNT(" not in read.upper()
        order = r"ORDER BY [\"`]testapp_product[\"`]\.[\"`]id[\"`] ASC\s+LIMIT 12\b"
        assert re.search(order, read)

    def test_another_key_is_what_the_query_is_ordered_by(self):
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
        make_products(7)
        source = limited(3, get_queryset=lambda self: order(Product.objects.all()))
        pages = [locs(page) for page in pages_of(source)]
        assert pages == list(map(product_urls, (range(3), range(3, 6), [6])))

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
        skipped = [re.findall(r"OFFSET (\d+)", sql) for sql in queries]
        assert list(chain(*skipped)) == ["10"] * (5 + 1)


MOMENT = datetime(2026, 11, 1, 12, 30, 0, 250, tzinfo=UTC)

#: Values that a key of each of Django's types may have.
VALUES: list[tuple[models.Field, Any]] = [
    (models.AutoField(), 7),
    (models.BigIntegerField(), -(10**15)),
    (models.BooleanField(), True),
    (models.CharField(), " a\u00e4'\"%\\ "),
    (models.DateField(), date(2026, 11, 1)),
    (models.DateTimeField(), MOMENT),
    (models.DecimalField(max_digits=9, decimal_places=3), Decimal("-1.250")),
    (models.DurationField(), timedelta(days=-3, microseconds=5)),
    (models.EmailField(), "a@example.com"),
    (models.FileField(), "a/b.jpg"),
    (models.FilePathField(), "/srv/a.jpg"),
    (models.FloatField(), 0.1 + 0.2),
    (models.GenericIPAddressField(), "2001:db8::1"),
    (models.PositiveSmallIntegerField(), 3),
    (models.SlugField(), "a-b"),
    (models.TextField(), "a\nb"),
    (models.TimeField(), time(23, 59, 59, 5)),
    (models.URLField(), "https://example.com/?a=b"),
    (models.UUIDField(), uuid.UUID(int=5)),
]


def unasked() -> Any:
    raise AssertionError("a type of Django is known")


@pytest.mark.parametrize(("field", "value"), VALUES)
def test_the_text_of_a_type_of_django_gives_the_value_back(field, value):
    assert has_text(field, unasked)
    assert field.to_python(str(value)) == value


@pytest.mark.parametrize(
    "field", [models.BinaryField(), models.JSONField(), Seat._meta.pk]
)
def test_some_types_of_django_have_no_such_text(field):
    assert not has_text(field, unasked)


@pytest.mark.database
@isolate_apps("tests.support.testapp")
def test_decimals_are_sorted_as_numbers():
    """SQLite has them as texts where no column says otherwise."""

    class Priced(models.Model):  # noqa: DJ008 - nobody reads it
        price = models.DecimalField(primary_key=True, max_digits=9, decimal_places=3)

        class Meta:
            app_label, db_table = "testapp", "priced"

    with connection.cursor() as cursor:
        cursor.execute("CREATE TEMPORARY TABLE priced (price decimal(9, 3))")
    space = KeySpace(Priced, "pk", "default")
    keys = [Decimal(number) for number in ("1000", "-5", "9999.125", "999.5")]
    assert space.sort_in(["-3.000", "999.500", "1234.5"], keys) == [1, -1, 2, 1]
    with connection.cursor() as cursor:
        cursor.execute("DROP TABLE priced")


def rows_of(model: Any) -> None:
    numbers = range(25)
    made = {
        Seat: lambda n: Seat(row=n % 5, number=n),
        Blob: lambda n: Blob(digest=bytes([255 - n, n])),
        Stamp: lambda n: Stamp(code=("a", f"{n:02}")),
        Coin: lambda n: Coin(code=f"C{n:02}"),
        Ticket: lambda n: Ticket(number=n),
        Label: lambda n: Label(code=f"c-{n:02}"),
        Product: lambda n: Product(name=f"n-{n:02}", slug=f"p-{n:02}"),
    }
    model.objects.bulk_create([made[model](number) for number in numbers])


class Rows(Sitemap):
    limit, model = 10, Coin

    def items(self) -> Any:
        return self.model.objects.all()

    def location(self, item: Any) -> str:
        return f"/{item}/"


@pytest.mark.parametrize(
    ("model", "is_key"),
    [
        *((Seat, False), (Blob, False), (Stamp, False)),
        *((Coin, True), (Ticket, True), (Label, True), (Product, True)),
    ],
)
def test_a_contrib_class_over_a_key_of_any_type(model, is_key, sections, crawl):
    """Three pages, live, built, and after an edit; ranges of keys where they can be."""
    kind = type("Rows", (Rows,), {"model": model})
    sections.register("rows", kind)
    rows_of(model)
    assert (reader_of(SitemapSource(kind)).key_space() is not None) == is_key

    def check() -> None:
        pages = crawl().values()
        expected = [f"https://example.com/{row}/" for row in model.objects.all()]
        assert sorted(chain(*pages)) == sorted(expected)
        assert len(pages) >= 3

    check()
    build_and_relay()
    check()
    pass_grace()  # pages by position rest for a minute
    model.objects.order_by("pk")[3].delete()
    build_and_relay()
    check()


def test_integers_whose_text_is_their_own_mark_one_page(sections, caplog):
    """As those of django-hashid-field; nor does a deploy break their plan."""
    sections.register("rows", type("Rows", (Rows,), {"model": Ticket}))
    rows_of(Ticket)
    build_and_relay()
    Ticket.objects.order_by("pk")[12].save()
    assert build_and_relay().sections[0].rendered == 1
    assert "is broken" not in caplog.text


def test_a_check_says_what_positions_cost(sections):
    """W016, where the model is known without a query."""
    sections.register("seats", GenericSitemap({"queryset": Seat.objects.all()}))
    sections.register("labels", GenericSitemap({"queryset": Label.objects.all()}))
    found = [it.id.partition(".")[2] for it in check_sources()]
    assert [it for it in found if it.startswith("W")] == ["W016"]


def test_a_later_key_that_is_no_bound_fails_and_is_named(sections, monkeypatch):
    sections.register("rows", Rows)
    rows_of(Coin)
    assert reader_of(SitemapSource(Rows)).key_space() is not None
    Coin.objects.filter(code="C10").delete()
    monkeypatch.setattr(type(Coin._meta.pk), "to_python", lambda self, text: text[:2])
    report = build_and_relay()
    assert "cannot be a bound of pages: testapp.Coin.code" in str(report.problems)


PATH = Concat(Value("/"), "slug", output_field=CharField())

BY_KEY = [
    ProductSource,
    limited(3, location=lambda self, product: f"/{product.slug}/"),
    limited(3, location=PATH, lastmod=None, key="slug"),
    limited(3, location=Value("/all/"), lastmod=None),
    limited(3, get_queryset=lambda self: Product.objects.order_by("name").distinct()),
    *zoo.BY_KEY,
]
KINDS = [*BY_KEY, *zoo.BY_POSITION, *zoo.OWN_PAGES]


def lines_by_key(kind: Any, keys: list[Any], sections: Any) -> dict[str, str]:
    given = kind() if isfunction(kind) else kind
    sections.register("section", given)
    with surroundings(SITE):
        reader = reader_of(registry.get("section"))
        found = dict(reader.lines_by_key(keys, Tally("section")))
    sections.unregister("section")
    return found


@pytest.mark.parametrize("kind", KINDS, ids=zoo.name_of)
def test_every_kind_of_source_gives_each_of_its_rows(kind, sections, settings):
    """Or nothing, where its rows have no keys; never other rows."""
    settings.ROOT_URLCONF = "tests.support.urls"
    attribute = getattr(kind, "key", "pk")
    keys = [getattr(product, attribute) for product in make_products(7)]
    found = lines_by_key(kind, keys[:-1], sections)
    assert set(found) == (set(map(str, keys[:-1])) if kind in BY_KEY else set())
    alone = [lines_by_key(kind, [key], sections) for key in keys[:-1]]
    assert {key: lines for one in alone for key, lines in one.items()} == found
    assert all("<loc>" in lines for lines in found.values())


def test_keys_that_are_uuids_are_given_as_text(sections):
    shop = Shop.objects.create(name="one")
    source = type("Shops", (ModelSource,), {"model": Shop, "location": Value("/shop/")})
    [(key, _)] = lines_by_key(source, [str(shop.pk)], sections).items()
    assert key == str(shop.pk)
