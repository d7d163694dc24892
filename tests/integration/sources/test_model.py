"""What a model source declares becomes an entry, from tuples or from instances."""

from datetime import UTC, datetime
from typing import Any

import pytest
from django.db.models import (
    CharField,
    F,
    ImageField,
    IntegerField,
    Model,
    QuerySet,
    SlugField,
    Value,
)
from django.db.models.functions import Coalesce, Concat, Lower, Upper
from django.db.models.signals import post_init
from django.test.utils import isolate_apps
from django.utils import timezone
from lxml import etree

from django_sitemaps_plus import (
    Alternate,
    Entry,
    Image,
    ModelSource,
    Route,
    Source,
    ViewSource,
)
from django_sitemaps_plus.core.dates import w3c
from django_sitemaps_plus.core.documents import NAMESPACES
from django_sitemaps_plus.core.key_ranges import KeyRange
from django_sitemaps_plus.core.validation import Problem
from django_sitemaps_plus.core.validation.checker import Checker
from django_sitemaps_plus.sources.querysets import quickly_made
from django_sitemaps_plus.sources.reading import page_query
from tests.support.documents import Listed, locs, read_urlset
from tests.support.rendered import plain, queries_of, render
from tests.support.shop import (
    START,
    ProductSource,
    limited,
    make_products,
    product_urls,
)
from tests.support.testapp.models import Author, Book, Product
from tests.support.testapp.more_models import Annex, Cafe, Painting, PlaceProxy, Post

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


def listed_by(model: Any, **declared: Any) -> list[str]:
    source = type("Source", (ModelSource,), {"model": model, **declared})
    return locs(plain(render(source)))


class Declared(ProductSource):
    """Every field a column."""

    changefreq = "frequency"
    priority = "popularity"


class TestTuplesAndInstances:
    """Rows, not objects, as long as nothing asks for an object."""

    @pytest.mark.parametrize(
        "declared",
        [
            {},
            {
                "location": Concat(
                    Value("/p/"), Lower("slug"), output_field=CharField()
                ),
                "changefreq": "weekly",
                "priority": 0.25,
                "lastmod": F("updated_at"),
            },
        ],
        ids=["columns", "constants and expressions"],
    )
    def test_a_declared_source_builds_no_instance(self, declared, request):
        make_varied()
        request.getfixturevalue("no_instances")
        source = type("NoInstances", (Declared,), declared)
        assert render(source).tally.entries == 6

    def test_one_method_makes_all_rows_instances(self):
        products = make_products(3)
        seen = []

        def priority(self, product):
            seen.append(product)
            return 0.5

        entries = read_urlset(plain(render(limited(3, priority=priority))))
        assert seen == products
        assert [entry.lastmod for entry in entries] == [
            f"2026-01-01T12:0{number}:00+00:00" for number in range(3)
        ]

    def test_without_location_the_object_is_asked(self):
        """get_absolute_url() is the default, as in contrib."""
        make_products(2)
        assert listed_by(Product) == product_urls(range(2))

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
        make_varied()
        by_tuples = render(Declared)
        by_instances = render(type("Methods", (Declared,), method))
        assert read_urlset(plain(by_tuples)) == read_urlset(plain(by_instances))
        if "images" not in method:
            assert plain(by_tuples) == plain(by_instances)
        assert by_tuples.tally.dropped == by_instances.tally.dropped == 1

    def test_no_row_is_lost_or_doubled_at_the_seams_of_batches(self):
        make_products(2_101)
        page = render(Instances)
        assert plain(page) == plain(render(ProductSource))
        assert page.tally.entries == 2_101


class TestDeclarations:
    @pytest.mark.parametrize("methods", [{}, {"priority": lambda self, book: None}])
    def test_a_path_across_a_relation_costs_no_query_a_row(self, methods):
        author = Author.objects.create(name="ada", updated_at=START)
        Book.objects.bulk_create(
            [Book(author=author, slug=f"book-{n}") for n in range(9)]
        )
        location = Route("product-detail", slug="author__name")
        declared = {"location": location, "lastmod": "author__updated_at", **methods}
        source = type("Source", (ModelSource,), {"model": Book, **declared})
        assert len(queries_of(source, KeyRange())) == 1
        expected = "https://example.com/products/ada/"
        assert (
            read_urlset(plain(render(source)))
            == [Listed(expected, "2026-01-01T12:00:00+00:00")] * 9
        )

    def test_expressions_are_worked_out_by_the_database(self):
        """F, Concat and Coalesce are selected like columns."""
        make_products(1, popularity=None)
        location = Concat(Value("/x/"), F("slug"), output_field=CharField())
        priority = Coalesce("popularity", Value(0.75))
        source = limited(
            1, location=location, priority=priority, lastmod=F("updated_at")
        )
        url, moment = "https://example.com/x/product-00000", "2026-01-01T12:00:00+00:00"
        assert read_urlset(plain(render(source))) == [Listed(url, moment, None, "0.75")]

    def test_a_route_takes_expressions(self):
        make_products(1)
        slug = Concat(F("slug"), Value("-x"))
        assert listed_by(Product, location=Route("product-detail", slug=slug)) == [
            "https://example.com/products/product-00000-x/"
        ]

    def test_a_route_argument_that_is_null_is_no_url(self):
        """reverse() would write "None" into the URL."""
        make_products(1)
        page = render(limited(1, location=Route("label-detail", code="popularity")))
        assert (page.tally.entries, page.tally.skipped) == (0, 1)
        assert "code of its URL is None" in page.tally.problems[0]

    def test_extensions_come_from_methods(self):
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


class Instances(ProductSource):
    """The usual source from instances, whose dates Python formats."""

    def priority(self, product):
        """Say nothing; but say it by a method."""


def lastmods(source: type[ProductSource]) -> list[str | None]:
    return [entry.lastmod for entry in read_urlset(plain(render(source)))]


def save_dates(given: list[Any], field: str = "updated_at") -> None:
    make_products(len(given), updated_at=None)
    for product, value in zip(Product.objects.order_by("pk"), given, strict=True):
        Product.objects.filter(pk=product.pk).update(**{field: value})


class TestAwareDates:
    """USE_TZ is on, and TIME_ZONE is not UTC."""

    moments = (
        datetime(2026, 1, 1, 12, 0, 0, tzinfo=UTC),
        datetime(2026, 1, 1, 12, 0, 0, 1, tzinfo=UTC),
        datetime(2026, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC),
        datetime(2026, 6, 30, 22, 59, 59, 999_600, tzinfo=UTC),
        datetime(2026, 3, 29, 1, 0, 0, 500_000, tzinfo=UTC),
        datetime(2026, 10, 25, 0, 30, tzinfo=UTC),
        datetime(2026, 10, 25, 1, 30, tzinfo=UTC),
        datetime(1970, 1, 1, tzinfo=UTC),
        datetime(1895, 1, 1, 1, 1, 1, tzinfo=UTC),
        datetime(2999, 12, 31, 23, 59, 59, tzinfo=UTC),
        datetime(1000, 1, 2, tzinfo=UTC),
        datetime(9999, 12, 30, 23, 59, 59, tzinfo=UTC),
    )

    def test_text_equals_what_python_writes(self):
        """To the second, fractions cut off and never rounded, in UTC."""
        save_dates(list(self.moments))
        expected = [w3c(moment) for moment in self.moments]
        assert lastmods(ProductSource) == lastmods(Instances) == expected
        with timezone.override("Asia/Tokyo"):  # as a request may have it
            assert lastmods(ProductSource) == lastmods(Instances) == expected

    def test_the_database_formats(self):
        """The page's query asks for text, so that nothing is parsed here."""
        save_dates(list(self.moments))
        query = page_query(ProductSource())
        assert {type(lastmod) for _, lastmod in query} == {str}

    def test_rows_without_a_date_have_no_lastmod(self):
        save_dates([None, self.moments[0], None])
        assert lastmods(ProductSource) == [None, "2026-01-01T12:00:00+00:00", None]
        Product.objects.update(updated_at=None)
        assert lastmods(ProductSource) == [None] * 3

    @pytest.mark.parametrize("source", [ProductSource, Instances])
    def test_the_newest_is_known(self, source):
        save_dates([self.moments[1], None, self.moments[2], self.moments[0]])
        assert render(source).tally.newest == "2026-12-31T23:59:59+00:00"


class TestNaiveDates:
    """USE_TZ is off, so times are those of clocks in TIME_ZONE."""

    @pytest.fixture(autouse=True)
    def berlin(self, settings):
        """Have daylight saving time."""
        settings.USE_TZ = False
        settings.TIME_ZONE = "Europe/Berlin"

    expected = {
        "2026-01-15T12:00:00": "2026-01-15T11:00:00+00:00",
        "2026-07-15T12:00:00.999999": "2026-07-15T10:00:00+00:00",
        "2026-03-29T01:59:59.999999": "2026-03-29T00:59:59+00:00",
        "2026-03-29T03:00:00": "2026-03-29T01:00:00+00:00",
        "2026-10-25T01:59:59": "2026-10-24T23:59:59+00:00",
        "2026-10-25T03:00:00": "2026-10-25T02:00:00+00:00",
        "2026-12-31T23:59:59.5": "2026-12-31T22:59:59+00:00",
        "2027-01-01T00:30:00": "2026-12-31T23:30:00+00:00",
    }

    @pytest.mark.parametrize("source", [ProductSource, Instances])
    def test_each_has_the_offset_of_its_own_day(self, source):
        save_dates([datetime.fromisoformat(text) for text in self.expected])
        assert lastmods(source) == list(self.expected.values())

    @pytest.mark.parametrize("text", ["2026-10-25T02:30:00", "2026-03-29T02:30:00"])
    def test_hours_that_are_twice_or_never_are_the_same_in_both_ways(self, text):
        save_dates([datetime.fromisoformat(text)])
        (found,) = lastmods(ProductSource)
        assert found in {f"{text[:10]}T0{hour}:30:00+00:00" for hour in (0, 1)}
        assert lastmods(Instances) == [found]

    def test_another_zone_is_followed(self, settings):
        settings.TIME_ZONE = "Asia/Kolkata"
        save_dates([datetime.fromisoformat("2026-01-15T12:00:00")])
        assert lastmods(ProductSource) == ["2026-01-15T06:30:00+00:00"]


@pytest.mark.parametrize("use_tz", [True, False])
def test_a_date_is_the_same_wherever_the_server_stands(settings, use_tz):
    settings.USE_TZ = use_tz
    dates = ["2026-01-01", "2026-12-31", "1970-01-01", "1904-02-29"]
    save_dates(dates, "created_on")
    assert lastmods(limited(9, lastmod="created_on")) == dates
    by_instances = type("Dated", (Instances,), {"lastmod": "created_on"})
    assert lastmods(by_instances) == dates


MARK = f"{{{NAMESPACES['mobile']}}}mobile"


class Entries(Source):
    def entries(self, origin: str) -> Any:
        return [Entry(f"{origin}/{name}/") for name in "ab"]


class Views(ViewSource):
    views = ("home", "about")
    languages = ("en", "de")


@pytest.mark.parametrize(
    ("source", "entries"), [(limited(10), 3), (Entries, 2), (Views, 4)]
)
def test_the_flag_of_mobile_sitemaps_marks_each_entry(source, entries):
    """Without it nothing is written, not even the namespace."""
    make_products(3)
    root = etree.fromstring(plain(render(type("Mobile", (source,), {"mobile": True}))))
    assert [len(entry.findall(MARK)) for entry in root] == [1] * entries
    assert NAMESPACES["mobile"].encode() not in plain(render(source))


def test_a_check_only_warns_of_the_mark():
    content = plain(render(type("Mobile", (Entries,), {"mobile": True})))
    problems: list[Problem] = []
    Checker(problems.append, timezone.now()).check("a.xml", iter([content]))
    assert [problem.rule for problem in problems] == ["tag-ignored"] * 2


@pytest.fixture
def rows():
    make_products(3)
    Cafe.objects.create(slug="cafe", seats=4)
    Annex.objects.create(slug="annex")
    Painting.objects.create(slug="a", photo="a.jpg")
    Painting.objects.create(slug="b", photo=None)
    Post.objects.create(slug="post")
    book = Book.objects.create(author=Author.objects.create(name="Ann"), slug="book")
    book.tags.create(name="tag")


def state(instance: Model) -> dict[str, Any]:
    known = vars(instance)
    names = ("db", "adding", "fields_cache", "fetch_mode")
    return known | {"_state": [getattr(known["_state"], it, None) for it in names]}


def both(queryset: QuerySet[Any]) -> tuple[list[Any], list[Any]]:
    """Return the instances as they are made quickly, and as Django makes them."""
    queryset = queryset.order_by("pk")
    return list(quickly_made(queryset).iterator(2)), list(queryset.iterator(2))


def is_quick(queryset: QuerySet[Any]) -> bool:
    return quickly_made(queryset)._iterable_class is not queryset._iterable_class


@pytest.mark.usefixtures("rows")
@pytest.mark.parametrize(
    "queryset",
    [
        Product.objects.all(),
        Product.objects.only("slug"),
        Product.objects.defer("updated_at", "name"),
        Product.objects.annotate(a=Upper("slug"), b=F("updated_at")).only("name"),
        Product.objects.annotate(a=Value(1)).distinct(),
        Product.objects.extra(select={"c": "1 + 1"}),
        Product.objects.none(),
        Cafe.objects.all(),
        Annex.objects.all(),
        PlaceProxy.objects.all(),
        Painting.objects.all(),
        Post.objects.all(),
        Book.objects.all(),
    ],
    ids=lambda queryset: queryset.model.__name__,
)
def test_they_are_equal(queryset):
    quick, usual = both(queryset)
    assert is_quick(queryset)
    assert [(type(it), state(it)) for it in quick] == [
        (type(it), state(it)) for it in usual
    ]


@pytest.mark.usefixtures("rows")
@isolate_apps("tests.support.testapp")
def test_models_with_images():
    """An image without columns of its own for width and height is a file."""

    class Picture(Model):
        slug = SlugField()
        photo = ImageField(null=True)

        class Meta:
            app_label = "testapp"
            db_table = Painting._meta.db_table

        def __str__(self):
            return self.slug

    quick, usual = both(Picture.objects.all())
    assert is_quick(Picture.objects.all())
    assert [state(it) for it in quick] == [state(it) for it in usual]
    assert [it.photo.name for it in quick] == ["a.jpg", ""]

    class Measured(Picture):
        width = IntegerField()
        other = ImageField(width_field="width")

        class Meta:
            app_label = "testapp"

    assert not is_quick(Measured.objects.all())


@pytest.mark.usefixtures("rows")
def test_what_is_deferred_can_be_read():
    quick, usual = both(Product.objects.only("slug"))
    assert [it.name for it in quick] == [it.name for it in usual]


@pytest.mark.usefixtures("rows")
@pytest.mark.parametrize(
    ("queryset", "quick", "queries"),
    [
        (Book.objects.prefetch_related("tags"), True, 2),
        (Book.objects.select_related("author"), False, 2),
    ],
    ids=["prefetched", "selected"],
)
def test_related_rows_are_there(queryset, quick, queries, django_assert_num_queries):
    assert is_quick(queryset) is quick
    with django_assert_num_queries(queries):
        (book,) = quickly_made(queryset).iterator(500)
        assert [tag.name for tag in book.tags.all()] == ["tag"]
        assert quick or book.author.name == "Ann"


@pytest.mark.usefixtures("rows")
def test_rows_of_an_object_know_it(django_assert_num_queries):
    author = Author.objects.get()
    (book,) = quickly_made(author.book_set.all()).iterator(500)
    assert book.author is author


def proxy(bases: tuple[type, ...] = (), **attributes: Any) -> Any:
    """Return a proxy of Product with code of its own."""
    meta = type("Meta", (), {"proxy": True, "app_label": "testapp"})
    own = {"__module__": __name__, "Meta": meta, **attributes}
    return type("Own", (Product, *bases), own)


@pytest.mark.usefixtures("rows")
class TestOwnCode:
    """Code of the project that takes part in making an instance runs."""

    @isolate_apps("tests.support.testapp")
    @pytest.mark.parametrize("name", ["__init__", "__new__", "__setattr__", "from_db"])
    def test_a_method(self, name):
        quick, _ = both(proxy(**{name: vars(OwnWay)[name]}).objects.all())
        assert {it.is_marked for it in quick} == {True}

    @isolate_apps("tests.support.testapp")
    def test_a_method_of_a_class_behind_the_model(self):
        """``Model.__init__()`` calls it."""
        quick, _ = both(proxy(bases=(Behind,)).objects.all())
        assert {it.is_marked for it in quick} == {True}

    @isolate_apps("tests.support.testapp")
    def test_an_attribute_in_the_place_of_a_fields(self):
        name = property(
            lambda self: self.kept, lambda self, value: setattr(self, "kept", "x")
        )
        quick, _ = both(proxy(name=name).objects.all())
        assert {it.name for it in quick} == {"x"}

    def test_a_receiver(self):
        seen = []

        def note(instance, **kwargs):
            seen.append(instance.slug)

        post_init.connect(note, sender=Product)
        try:
            list(quickly_made(Product.objects.all()).iterator(500))
        finally:
            post_init.disconnect(note, sender=Product)
        assert len(seen) == 3

    def test_a_queryset_that_yields_something_else(self):
        names = Product.objects.order_by("pk").values_list("name", flat=True)
        assert list(quickly_made(names).iterator(500)) == list(names)


class OwnWay:
    """Each way to take part, which leaves a mark."""

    def __init__(self, *args, **kwargs):
        super(Product, self).__init__(*args, **kwargs)
        self.__dict__["is_marked"] = True

    def __new__(cls, *args, **kwargs):
        made = object.__new__(cls)
        made.__dict__["is_marked"] = True
        return made

    def __setattr__(self, name, value):
        object.__setattr__(self, name, value)
        self.__dict__["is_marked"] = True

    @classmethod
    def from_db(cls, *args, **kwargs):
        made = super(Product, cls).from_db(*args, **kwargs)
        made.is_marked = True
        return made


class Behind:
    """A class whose ``__init__()`` comes after that of ``Model``."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.is_marked = True
