"""Querysets of any shape: what is listed equals a plain loop over each of them."""

from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from functools import partial
from itertools import chain, count
from typing import Any

import pytest
from django.conf.urls.i18n import i18n_patterns
from django.contrib.sitemaps import Sitemap
from django.db import connection
from django.db.models import (
    Case,
    CharField,
    Count,
    Exists,
    F,
    FilteredRelation,
    IntegerField,
    Max,
    OuterRef,
    Prefetch,
    Q,
    QuerySet,
    Subquery,
    Value,
    When,
    Window,
)
from django.db.models.expressions import RawSQL
from django.db.models.functions import Cast, Coalesce, Concat, Lag, NullIf, RowNumber
from django.http import Http404
from django.test import RequestFactory
from django.urls import path

from django_sitemaps_plus import ModelSource, Route
from django_sitemaps_plus.checks import check_sources
from django_sitemaps_plus.contrib.views import sitemap
from django_sitemaps_plus.core.limits import LimitExceededError
from django_sitemaps_plus.exceptions import SourceError
from django_sitemaps_plus.registry import registry
from django_sitemaps_plus.sources import Tally, reader_of, surroundings
from django_sitemaps_plus.testing import tracking
from tests.support.builds import build_and_relay
from tests.support.documents import locs, read_index, read_urlset
from tests.support.joins import joined
from tests.support.rendered import SITE, pages_of, plain, plan_of, render
from tests.support.shop import START, limited, make_products, product_urls
from tests.support.testapp.models import Author, Book, Product, Tag

BOOKS = Book.objects.all
NUMBER = Window(RowNumber(), partition_by=[F("author")], order_by=F("pk").desc())
BEFORE = Window(Lag("pk"), partition_by=[F("author")], order_by="pk")
OF_AUTHOR = Book.objects.filter(author=OuterRef("author"))
NEWER = OF_AUTHOR.filter(pk__gt=OuterRef("pk"))
TAGGED = Book.tags.through.objects.filter(book=OuterRef("pk"), tag__name="tag 1")
COUNTED = "count(*) OVER (PARTITION BY testapp_book.author_id)"


def numbered(**filters: Any) -> QuerySet[Any]:
    return BOOKS().annotate(number=NUMBER).filter(**filters)


def latest(**filters: Any) -> QuerySet[Any]:
    return numbered(number=1, **filters)


def with_good_tags() -> QuerySet[Any]:
    good = FilteredRelation("tags", condition=Q(tags__name="tag 2"))
    return BOOKS().annotate(good=good).filter(good__isnull=False)


#: What `get_queryset()` and `items()` return; a `number` becomes part of the URL.
SHAPES: dict[str, Callable[[], QuerySet[Any]]] = {
    "all": BOOKS,
    "ordered": lambda: BOOKS().order_by("author__name", "slug").reverse(),
    "none": lambda: BOOKS().none(),
    "empty list": lambda: BOOKS().filter(pk__in=[]),
    "long list": lambda: BOOKS().filter(pk__in=range(3_000)),
    "or": lambda: BOOKS().filter(Q(slug__endswith="1") | Q(author__name="author 3")),
    "not": lambda: BOOKS().exclude(slug__endswith="1"),
    "not to many": lambda: BOOKS().exclude(tags__name="tag 1"),
    "and to many": lambda: (
        BOOKS().filter(tags__name="tag 1").filter(tags__name="tag 2")
    ),
    "to many, distinct": lambda: BOOKS().filter(tags__name__gte="tag").distinct(),
    "exists": lambda: BOOKS().filter(Exists(TAGGED)),
    "not exists": lambda: BOOKS().filter(~Exists(TAGGED)),
    "inner": lambda: BOOKS().filter(author__in=Author.objects.filter(name__gte="b")),
    "inner, sliced": lambda: BOOKS().filter(
        pk__in=[*BOOKS().order_by("-pk").values_list("pk", flat=True)[:12]]
    ),
    "inner of its own": lambda: BOOKS().filter(
        pk=Subquery(OF_AUTHOR.order_by("-pk").values("pk")[:1])
    ),
    "no newer": lambda: BOOKS().filter(~Exists(NEWER)),
    "filtered relation": with_good_tags,
    "aggregate": lambda: BOOKS().annotate(number=Count("tags")).filter(number__gte=2),
    "aggregate of its own": lambda: (
        BOOKS().annotate(number=Max("author__book__pk")).filter(pk=F("number"))
    ),
    "case": lambda: (
        BOOKS()
        .annotate(number=Case(When(slug__endswith="1", then=1), default=0))
        .filter(number=0)
    ),
    "raw": lambda: BOOKS().annotate(number=RawSQL("1 + %s", [1])).filter(number=2),
    "raw, commented": lambda: BOOKS().annotate(number=RawSQL("1 /* :) */", [])),
    "extra": lambda: BOOKS().extra(where=["slug LIKE %s"], params=["%1%"]),
    "related": lambda: BOOKS().select_related("author").prefetch_related("tags"),
    "prefetch": lambda: BOOKS().prefetch_related(Prefetch("tags", to_attr="found")),
    "deferred": lambda: BOOKS().only("slug"),
    "locked": lambda: BOOKS().select_for_update(),
    "window": latest,
    "window, shown": numbered,
    "window, filtered before": lambda: latest(slug__gte="book-05"),
    "window, excluded": lambda: numbered().exclude(number=1),
    "window, in either": lambda: numbered().filter(Q(number=1) | Q(slug__endswith="2")),
    "window of another": lambda: (
        BOOKS().annotate(number=Coalesce(BEFORE, 0)).filter(number__gt=0)
    ),
    "window and aggregate": lambda: latest().annotate(tagged=Count("tags")),
    "window, joined and distinct": lambda: latest(tags__name="tag 1").distinct(),
    "window, ordered by": lambda: BOOKS().order_by(NUMBER),
    "window, related": lambda: latest().select_related("author"),
    "window, deferred": lambda: latest().only("slug"),
    "window, within": lambda: BOOKS().filter(pk__in=latest().values("pk")),
    "window, raw": lambda: BOOKS().annotate(number=RawSQL(COUNTED, [])),  # noqa: S611 - the same
    "window, extra": lambda: BOOKS().extra(select={"number": COUNTED}),  # noqa: S610 - the same
}


#: Shapes that databases may answer in ways of their own: how they group, lock, take
#: percent signs and comments, and filter by windows.
OWN_WAYS = {
    *("to many, distinct", "inner of its own", "filtered relation", "aggregate"),
    *("raw", "raw, commented", "extra", "locked"),
    *("window", "window, in either", "window and aggregate", "window, within"),
    *("window, joined and distinct", "window, ordered by", "window, raw"),
}

#: Django cannot select an expression of these: `number` of an extra(select), and what
#: contains a window where rows are grouped.
NOT_BY_COLUMNS = {"window, extra", "window and aggregate"}


def path_of(book: Any) -> str:
    """Return where a book says it is, with what the query says of it."""
    number = getattr(book, "number", "")
    return f"/{book.slug}/{int(number * 100) if number else number}/"


def declared(queryset: QuerySet[Any]) -> Any:
    if "number" not in queryset.query.annotations:
        return Concat(Value("/"), "slug", Value("//"), output_field=CharField())
    number = Cast(Cast(F("number") * 100, IntegerField()), CharField())
    parts = (Value("/"), "slug", Value("/"), number, Value("/"))
    return Concat(*parts, output_field=CharField())


@pytest.fixture
def books() -> list[Book]:
    authors = [Author.objects.create(name=f"author {n}") for n in range(10)]
    tags = [Tag.objects.create(name=f"tag {n}") for n in range(3)]
    owners = [authors[number * 7 % 10] for number in range(30)]
    made = [
        Book.objects.create(author=owner, slug=f"book-{number:02}")
        for number, owner in enumerate(owners)
    ]
    pairs = [(book, tag) for n, book in enumerate(made) for tag in tags[: n % 4]]
    tagged = Book.tags.through
    tagged.objects.bulk_create([tagged(book=it, tag=tag) for it, tag in pairs])
    return made


def crawled(client: Any) -> dict[str, list[str]]:
    response, found = client.get("/sitemap.xml"), dict[str, list[str]]()
    for page in read_index(response.content) if response.status_code == 200 else ():
        path = page.removeprefix("https://example.com")
        found.setdefault(path.split("-")[1], []).extend(locs(client.get(path).content))
    return {name: sorted(urls) for name, urls in found.items()}


def forms_of(rows: Callable[[], Any], size: int) -> dict[str, Any]:
    """Return sources of rows: of a method and of a contrib class, so many a page."""

    class Methods(ModelSource):
        model, limit = Book, size

        def get_queryset(self):
            return rows()

        def location(self, book):
            return path_of(book)

    class OfContrib(Sitemap):
        limit = size
        location = staticmethod(path_of)

        def items(self):
            return rows()

    return {"methods": Methods, "contrib": OfContrib}


def paths(rows: Any) -> list[str]:
    return sorted([f"https://example.com{path_of(it)}" for it in rows])


@pytest.mark.parametrize(
    "shape",
    [
        pytest.param(it, marks=pytest.mark.database if it in OWN_WAYS else ())
        for it in SHAPES
    ],
)
def test_what_is_listed_equals_a_loop(shape, books, sections, client):
    """By columns, by methods and of a contrib class: live, and built after an edit."""
    queryset = SHAPES[shape]
    forms = forms_of(queryset, max(2, len(queryset()) // 3))
    if shape not in NOT_BY_COLUMNS:
        location = {"location": declared(queryset())}
        forms["columns"] = type("Columns", (forms["methods"],), location)
    for name, source in forms.items():
        sections.register(name, source)

    def check() -> None:
        expected = paths(queryset())
        assert crawled(client) == (dict.fromkeys(forms, expected) if expected else {})

    check()
    build_and_relay()
    books[4].slug = "renamed-41"
    books[4].save()
    books[29].delete()
    new = Book.objects.create(author=books[25].author, slug="new-12")
    new.tags.set(Tag.objects.all())
    build_and_relay()
    check()


def in_place_of_contribs(rows: Callable[[], Any], size: int, number: int) -> list[str]:
    """Return a page of the view in the place of contrib's, if there is one."""
    request = RequestFactory().get("/", {"p": number}, secure=True)
    request.META["SERVER_NAME"] = "example.com"
    with suppress(Http404):
        sitemaps = {"books": forms_of(rows, size)["contrib"]}
        response: Any = sitemap(request, sitemaps)
        return locs(response.render().content)
    return []


@pytest.mark.database
@pytest.mark.parametrize("shape", ["no newer", "window", "window, shown"])
def test_drop_in_views_list_the_same(shape, books):
    queryset = SHAPES[shape]
    numbers = range(1, len(queryset()) // 3 + 2)
    found = [in_place_of_contribs(queryset, 3, number) for number in numbers]
    assert sorted(chain(*found)) == paths(queryset())


def test_drop_in_views_list_what_items_has_evaluated(books):
    """All of one page, in the order of the query, on a database that it names."""

    def evaluated():
        found = Book.objects.using("default").order_by("-slug")
        assert len(found) == 30
        return found

    expected = [f"https://example.com{path_of(it)}" for it in reversed(books)]
    assert in_place_of_contribs(evaluated, 50, 1) == expected


class Fetching(QuerySet):
    """Says something of each book when it is fetched, as a translation library does."""

    def _fetch_all(self):
        super()._fetch_all()
        for book in self._result_cache:
            book.number = len(book.slug)


class Hiding(QuerySet):
    """Leaves books out in Python, and expects instances."""

    def __iter__(self):
        return (book for book in super().__iter__() if not book.slug.endswith("3"))


class Wrapped:
    def __init__(self, book):
        self.book, self.number = book, book.pk

    def __getattr__(self, name):
        return getattr(self.book, name)


class Wrapping(QuerySet):
    """Gives something else than instances."""

    def __iter__(self):
        return map(Wrapped, super().__iter__())


class Doubling(QuerySet):
    """Gives several items for a row, with URLs of their own."""

    def __iter__(self):
        for book in super().__iter__():
            yield from (book, Wrapped(book))


class Iterating(QuerySet):
    """Has an iterator() of its own, which no loop asks."""

    def iterator(self, *args, **kwargs):
        for book in super().iterator(*args, **kwargs):
            book.slug = f"{book.slug}-streamed"
            yield book


class Narrow(QuerySet):
    """Takes no conditions but its own, orders as it likes and lists what is sliced."""

    def filter(self, **slugs):
        return super().filter(slug__gt="book-05", **slugs)

    def order_by(self, *names):
        return super().order_by("slug", *names)

    def __getitem__(self, place):
        return list(super().__getitem__(place))


KINDS = [Fetching, Hiding, Wrapping, Doubling, Iterating, Narrow]


@pytest.mark.parametrize("kind", KINDS)
def test_a_class_that_works_when_rows_are_fetched(kind, books, sections, client):
    for name, source in forms_of(lambda: kind(Book).order_by("slug"), 10).items():
        sections.register(name, source)

    def check() -> None:
        assert crawled(client) == dict.fromkeys(
            ["methods", "contrib"], paths(kind(Book))
        )

    check()
    build_and_relay()
    books[4].slug = "renamed"
    books[4].save()
    books[15].delete()
    build_and_relay()
    check()


SLASHED = Concat(Value("/"), "slug", output_field=CharField())


def test_declared_columns_of_such_a_class_stay_columns(books):
    """No instance is made, which would be told apart by its number."""

    class Columns(ModelSource):
        model = Book
        location = SLASHED

        def get_queryset(self):
            return Fetching(Book)

    assert locs(plain(render(Columns)))[0] == "https://example.com/book-00"


def test_code_of_watch_may_return_such_a_class(books, publish):
    """Its keys are read without the class, so that only their pages are rendered."""
    pk = books[5].pk

    class Watching(ModelSource):
        model = Book
        limit = 10
        location = SLASHED
        watch = {Author: lambda author: Fetching(Book).filter(author=author, pk__lt=pk)}

    section = publish(Watching)
    books[1].author.save()
    [report] = build_and_relay().sections
    assert (section.pages.count(), report.rendered) == (3, 1)


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
def test_what_has_no_key_ranges_is_refused(queryset):
    source = limited(5, get_queryset=lambda self: queryset())
    with pytest.raises(SourceError, match=r"LimitedSource.*Use Source"):
        render(source)


@pytest.mark.database
def test_rows_doubled_by_a_join_end_the_plan_all_the_same():
    """More rows of one key than a page holds do not make an endless plan."""
    author = Author.objects.create(name="A")
    book = Book.objects.create(author=author, slug="book")
    book.tags.set([Tag.objects.create(name=f"tag {n}") for n in range(9)])
    Book.objects.create(author=author, slug="next").tags.set(Tag.objects.all()[:1])
    tagged = forms_of(lambda: BOOKS().filter(tags__name__gte="tag"), 3)["methods"]
    assert len(plan_of(tagged)) == 2


@pytest.mark.database
@pytest.mark.parametrize("rows", [1, 2])
def test_another_library_may_join_tables(rows, publish, crawl, sections):
    """Its join may repeat rows, each of which is listed once."""

    def get_queryset(self):
        return joined(Product.objects.all(), rows)

    made = make_products(22)
    source = limited(10, get_queryset=get_queryset)
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


@pytest.mark.database
@pytest.mark.parametrize("priority", [0.5, lambda self, book: 0.5])
def test_the_alias_of_a_filtered_relation_can_be_declared(
    priority, publish, crawl, sections, client
):
    """The check, live pages and built ones know it."""
    times = {"A": START, "B": START + timedelta(days=1)}
    authors = [Author.objects.create(name=n, updated_at=t) for n, t in times.items()]
    for number in range(25):
        Book.objects.create(author=authors[number % 2], slug=f"book-{number:02}")

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
        pages = [read_urlset(client.get(path).content) for path in crawl()]
        return [it.lastmod for it in chain(*pages)]

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


def test_one_row_too_many_is_noticed():
    """A page may hold a tenth more than its limit, not one more."""
    make_products(11)
    assert render(limited(10)).tally.entries == 11
    make_products(1, first=11, updated_at=None)
    with pytest.raises(LimitExceededError, match="more than 11 entries"):
        render(limited(10))


def test_filtered_rows_do_not_count():
    """Rows that the queryset leaves out fill no page."""
    make_products(20)
    Product.objects.filter(slug__endswith="1").update(published=False)

    def get_queryset(self):
        return Product.objects.filter(published=True)

    pages = pages_of(limited(9, get_queryset=get_queryset))
    assert [len(locs(page)) for page in pages] == [9, 9]


URLS = [f"https://example.com/books/book-{number}/" for number in range(3)]
TAGGED_BOOKS = {"tags__name__gte": "tag"}


@pytest.fixture
def tagged_books() -> None:
    author = Author.objects.create(name="A")
    tags = [Tag.objects.create(name=f"tag {number}") for number in range(3)]
    for number in range(3):
        book = Book.objects.create(author=author, slug=f"book-{number}")
        book.tags.set(tags)


class Tuples(ModelSource):
    model = Book
    location = Route("book-detail", slug="slug")

    def get_queryset(self) -> Any:
        return super().get_queryset().filter(**TAGGED_BOOKS)


class Instances(Tuples):
    def location(self, book: Book) -> str:  # type: ignore[override]
        return f"/books/{book.slug}/"


class Contrib(Sitemap):
    location = Instances.location

    def items(self) -> Any:
        return Book.objects.filter(**TAGGED_BOOKS)


class InLanguages(Contrib):
    i18n = True
    languages = ["en", "de"]

    def _location(self, item: Any, force_lang_code: str | None = None) -> str:
        return f"/{item[1]}/{item[0].slug}/"


@pytest.mark.database
@pytest.mark.usefixtures("tagged_books")
@pytest.mark.parametrize("on_error", ["skip", "raise"])
@pytest.mark.parametrize("source", [Tuples, Instances, Contrib])
def test_a_row_is_listed_once(source, on_error):
    """Repetitions are no errors, even where errors stop a page."""
    page = render(type("Repeating", (source,), {"on_error": on_error}))
    assert locs(plain(page)) == URLS
    assert (page.tally.entries, page.tally.dropped, page.tally.skipped) == (3, 6, 0)
    pk = Book.objects.earliest("pk").pk
    assert page.tally.problems[0] == (
        f"Book {pk} listed once: its query repeats it. Add .distinct() to "
        "get_queryset(), or filter by Exists()"
    )


@pytest.mark.usefixtures("tagged_books")
def test_an_item_is_listed_once_in_each_language():
    page = render(InLanguages)
    assert len(locs(plain(page))) == len(set(locs(plain(page)))) == 6
    assert page.tally.dropped == 12


@pytest.mark.database
@pytest.mark.usefixtures("tagged_books")
def test_a_row_is_listed_once_in_each_language(settings):
    patterns = i18n_patterns(path("<slug>/", render, name="book-detail"))
    settings.ROOT_URLCONF = tuple(patterns)
    Book.objects.filter(slug="book-1").update(slug="")

    class Source(Tuples):
        languages = ["en-us", "de"]
        location = Route("book-detail", slug=NullIf("slug", Value("")))

    page = render(Source)
    assert len(locs(plain(page))) == len(set(locs(plain(page)))) == 4
    assert (page.tally.entries, page.tally.repeated, page.tally.skipped) == (4, 4, 0)


@pytest.mark.database
@pytest.mark.usefixtures("tagged_books")
def test_repetitions_of_one_batch_in_the_next_are_found(monkeypatch):
    monkeypatch.setattr("django_sitemaps_plus.sources.reading.CHUNK_ROWS", 2)
    page = render(Tuples)
    assert locs(plain(page)) == URLS
    assert page.tally.dropped == 6
    assert len(page.tally.problems) == 1  # one tells what to write


@pytest.mark.database
@pytest.mark.usefixtures("tagged_books")
@pytest.mark.parametrize("source", [Tuples, Instances, Contrib])
def test_one_row_is_found_among_its_repetitions(source, sections):
    book = Book.objects.earliest("pk")
    book.tags.set([Tag.objects.create(name=f"tag {number}") for number in range(20)])
    sections.register("books", source)
    with surroundings(SITE):
        reader = reader_of(registry.get("books"))
        found = list(reader.lines_by_key([book.pk], Tally("books")))
    assert [lines for _, lines in found if lines] == [
        f"<url><loc>{URLS[0]}</loc></url>\n"
    ]


@pytest.mark.usefixtures("tagged_books")
def test_other_urls_of_a_row_stay():
    """A location may cross the relation on purpose."""
    location = Route("product-detail", slug=F("tags__pk"))
    page = render(type("OfTags", (Tuples,), {"location": location}))
    assert len(set(locs(plain(page)))) == 3
    assert (page.tally.entries, page.tally.dropped) == (3, 6)


@pytest.mark.database
@pytest.mark.usefixtures("tagged_books")
@pytest.mark.parametrize("found", [{"tags": None}, {"author__name": "/a/"}])
def test_a_join_that_repeats_nothing_is_let_alone(found):
    """Nor do two rows become one that have the same URL."""
    Book.tags.through.objects.all().delete()
    Author.objects.update(name="/a/")

    class Source(ModelSource):
        model = Book
        location = "author__name"

        def get_queryset(self):
            return super().get_queryset().filter(**found)

    assert render(Source).tally.entries == 3


@pytest.mark.skipif(connection.vendor != "sqlite", reason="SQLite alone counts steps")
def test_a_page_costs_the_same_whatever_else_bounds_the_key():
    """SQLite searches by one of two bounds, and would read all rows."""
    make_products(600)
    bounded = Product.objects.filter(pk__gt=0, pk__lt=10**9)
    middle = plan_of(limited(10))[30]
    rows = [Product.objects.all(), bounded]
    sources = [limited(10, get_queryset=it.all) for it in rows]
    least, steps = [steps_of(partial(render, it, middle)) for it in sources]
    assert 0 < steps < 2 * least


def steps_of(act: Callable[[], object]) -> int:
    """Return how many steps of its machine SQLite takes for an act, in tens."""
    taken = count()
    connection.connection.set_progress_handler(lambda: next(taken) and None, 10)
    act()
    connection.connection.set_progress_handler(None, 0)
    return next(taken)
