"""Saves: what they leave behind, what they cost, and that none fails for us."""

import time
from contextlib import nullcontext, suppress

import pytest
from django.contrib.sitemaps import Sitemap
from django.db import DatabaseError, connection, transaction
from django.db.models import (
    Case,
    Exists,
    F,
    FilteredRelation,
    OuterRef,
    Q,
    Subquery,
    Value,
    When,
)
from django.db.models.expressions import RawSQL
from django.db.models.functions import Lower
from django.db.models.signals import m2m_changed, post_delete, post_save
from django.test.utils import CaptureQueriesContext, _TestState

from django_sitemaps_plus import Route, notify_changed, receivers
from django_sitemaps_plus.building.build import build
from django_sitemaps_plus.models import Change, Page, Section
from django_sitemaps_plus.outages import log_once
from django_sitemaps_plus.testing import temporary_source, tracking
from django_sitemaps_plus.tracking import known, recording, watching
from tests.support.joins import joined
from tests.support.shop import ProductSource, limited, make_products
from tests.support.testapp.models import (
    Author,
    Book,
    Country,
    Label,
    Painting,
    Post,
    Product,
    Reprint,
    Tag,
)

from .rows import (
    BookSource,
    can_fast_delete,
    keys,
    like,
    make_books,
    make_product,
    recorded,
    senders,
    times,
)

ENGINES = {
    "ENGINES": {"one": {"BACKEND": "django_sitemaps_plus.testing.RecordingEngine"}},
    "NOTIFY": True,
}


TaggedSource = like(BookSource, priority=times("tags__name"))


class Undo(Exception):
    """Rolls a block back."""


def statements(act):
    with CaptureQueriesContext(connection) as queries:
        act()
    return [query["sql"] for query in queries]


def create(name: str) -> list[str]:
    return statements(lambda: Product.objects.create(name=name, slug=name))


class TestWhatIsRecorded:
    @pytest.mark.database
    def test_only_the_inner_savepoint_is_undone(self, publish):
        """Nothing is remembered of a save that was rolled back."""
        one, two, three = [make_product(name) for name in ("one", "two", "three")]
        publish(ProductSource)
        with transaction.atomic():
            one.save()
            with suppress(Undo), transaction.atomic():
                one.save()
                two.save()
                raise Undo
            two.save()
            three.save()
        assert recorded() == keys(one, two, three)

    @pytest.mark.database
    @pytest.mark.parametrize("key", ["pk", "slug"])
    def test_an_insert_and_an_update_and_a_deletion(self, publish, key):
        """Each by the key that the source names."""
        publish(limited(10, key=key))
        product = Product.objects.create(name="new", slug="new")
        value = str(getattr(product, key))
        product.save()
        product.delete()
        assert recorded() == [("key", value, "")] * 3

    @pytest.mark.database
    @pytest.mark.parametrize("is_built", [True, False])
    @pytest.mark.parametrize("has_engines", [True, False])
    def test_a_save_in_a_transaction_takes_one_insert_and_its_savepoint(
        self, sections, configure, is_built, has_engines
    ):
        """From the second save on; where nothing is read, it is the save alone.

        SQLite needs no savepoint.
        """
        if has_engines:
            configure(**ENGINES)
        product = make_product("one")
        sections.register("products", ProductSource)
        if is_built:
            build()
        for _ in range(2):
            with transaction.atomic():
                said = statements(product.save)
        is_read = is_built or has_engines
        is_lite = connection.vendor == "sqlite"
        assert len(said) == ((2 if is_lite else 4) if is_read else 1)
        assert len(recorded()) == (2 if is_read else 0)

    def test_nothing_without_track(self, publish, configure):
        product = make_product("one")
        publish(ProductSource)
        configure(TRACK=False)
        assert notify_changed(Product.objects.all()) == 0
        product.save()
        product.delete()
        assert recorded() == []


class TestReceivers:
    def test_no_other_model_loses_its_fast_delete(self, publish):
        """A receiver for every model would take it from each of them."""
        publish(ProductSource)
        for signal in (post_save, post_delete, m2m_changed):
            assert id(None) not in senders(signal)
        assert senders(post_delete) == {id(Product)}
        assert [can_fast_delete(model) for model in (Label, Product)] == [True, False]

    def test_track_deletes_off_keeps_the_fast_delete(self, publish):
        """Saves are recorded all the same; deletions are left to the audit."""
        product = make_product("one")
        publish(limited(10, track_deletes=False))
        assert can_fast_delete(Product)
        product.save()
        assert recorded() == keys(product)
        Product.objects.all().delete()
        assert recorded() == keys(product)

    def test_a_temporary_source_connects_and_disconnects(self, sections):
        before = senders(post_save)
        with temporary_source("temporary", ProductSource):
            assert senders(post_save) - before == {id(Product)}
            assert not can_fast_delete(Product)
        assert senders(post_save) == before
        assert can_fast_delete(Product)

    def test_a_save_while_they_are_connected_anew_is_recorded(
        self, publish, monkeypatch
    ):
        """As another thread does that learns what a contrib class lists."""
        publish(ProductSource)
        connect, made = receivers._connect, []

        def save_before(*args):
            name = f"meanwhile-{len(made)}"
            made.append(Product.objects.create(name=name, slug=name))
            connect(*args)

        with monkeypatch.context() as patch:
            patch.setattr(receivers, "_connect", save_before)
            receivers.connect()
        assert set(recorded()) == set(keys(*made)) != set()

    def test_registering_asks_no_queryset(self, sections, django_assert_num_queries):
        """A project must be able to start, and to migrate, without any table."""

        def get_queryset(self):
            raise RuntimeError(list(Label.objects.all()))

        with django_assert_num_queries(0):
            sections.register("products", limited(10, get_queryset=get_queryset))
        assert senders(post_save) == {id(Product)}


def lose(monkeypatch, *models):
    """Know nothing, on a database on which these were never migrated."""
    known.forget()
    for model in models:
        monkeypatch.setattr(model._meta, "db_table", "no_such_table")


def no_pages(monkeypatch):
    lose(monkeypatch, Page, Change)


def no_sections(monkeypatch):
    """Neither the source's own query nor ours can be run."""
    lose(monkeypatch, Section, Change)

    def fail(source):
        with connection.cursor() as cursor:
            cursor.execute("SELECT no_such_column")

    monkeypatch.setattr(watching, "columns", fail)


def bad_settings(monkeypatch):
    monkeypatch.setattr(known, "is_tracking", None)


@pytest.mark.database
@pytest.mark.parametrize("fault", [no_pages, no_sections, bad_settings])
def test_the_transaction_of_a_save_goes_on(fault, publish, monkeypatch, messages):
    """The row is saved, and more can be done in the same transaction."""
    product = make_product("one")
    publish(ProductSource)
    fault(monkeypatch)
    with transaction.atomic():
        product.name = "two"
        product.save(update_fields=["name", "slug"])
        Product.objects.create(name="three", slug="three")
        assert Product.objects.count() == 2
    assert sorted(Product.objects.values_list("name", flat=True)) == ["three", "two"]
    assert "was not recorded" in messages("change_lost")[0]


@pytest.mark.database
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("is_lost", [True, False])
def test_a_transaction_without_atomic_goes_on(
    is_lost, publish, configure, monkeypatch, messages
):
    """The site has turned autocommit off, and commits by itself."""
    product = make_product("one")
    publish(ProductSource)
    configure(EXECUTOR="tests.integration.tracking.test_changes.Woken")
    if is_lost:
        no_pages(monkeypatch)
    transaction.set_autocommit(False)
    try:
        product.slug = "two"
        product.save()
        transaction.commit()
    finally:
        transaction.rollback()
        transaction.set_autocommit(True)
    assert Product.objects.get().slug == "two"
    assert bool(messages("change_lost")) is is_lost
    monkeypatch.undo()
    assert recorded() == ([] if is_lost else keys(product))


@pytest.mark.skipif(connection.vendor != "sqlite", reason="SQLite has such triggers")
@pytest.mark.django_db(transaction=True)
def test_a_save_raises_where_the_database_undoes_all_of_its_transaction(publish):
    """A full disk may do so; else the block would end as if its rows were saved."""
    product = make_product("one")
    publish(ProductSource)
    with connection.cursor() as cursor:
        changes = f"main.{Change._meta.db_table}"
        undo = "BEGIN SELECT RAISE(ROLLBACK, 'disk is full'); END"
        cursor.execute(f"CREATE TEMP TRIGGER full BEFORE INSERT ON {changes} {undo}")
        product.slug = "two"
        try:
            with pytest.raises(DatabaseError, match="disk is full"):
                transaction.atomic(product.save)()
        finally:
            cursor.execute("DROP TRIGGER full")
    assert Product.objects.get().slug == "one"


@pytest.mark.database
def test_a_source_that_fails_is_not_watched(sections, messages):
    """It is said once, and not again with each save."""
    log_once.cache_clear()  # another test may have met it
    sections.register("products", limited(10, key="nowhere"))
    known.add("products")
    make_product("one")
    assert not recorded()
    assert "'products' are not recorded" in messages("source_broken")[0]
    assert not messages("change_lost")


@pytest.mark.database
def test_a_relation_is_taken_away_all_the_same(publish, monkeypatch, messages):
    """From its far side, where the change names the others."""
    [book] = make_books(Author.objects.create(name="one"), 1)
    tag = Tag.objects.create(name="t")
    book.tags.add(tag)
    publish(TaggedSource)
    monkeypatch.setattr(Change._meta, "db_table", "no_such_table")
    with transaction.atomic():
        tag.book_set.remove(book)
        assert not book.tags.exists()
    assert "was not recorded" in messages("change_lost")[0]


@pytest.mark.database
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("context", [transaction.atomic, nullcontext])
def test_a_queryset_whose_query_fails_counts_every_column(publish, messages, context):
    """It is asked in the middle of a save, once, and its error ends there."""
    asked = []

    def get_queryset(self):
        if asked:
            asked.append("again")
            list(Label.objects.extra(where=["no_such_column = 1"]))
        return Product.objects.all()

    product = make_product("one")
    publish(limited(10, get_queryset=get_queryset))
    asked.append("published")  # its table loses a column after that
    with context():
        for name in ("two", "three"):
            product.name = name
            product.save(update_fields=["name"])
        assert Product.objects.get().name == "three"
    assert asked == ["published", "again"]
    assert recorded() == keys(product) * 2
    assert messages("change_lost") == []


@pytest.mark.database
def test_a_transaction_that_is_broken_already_is_left_alone(publish, messages):
    """The user's own error is what the user sees."""
    product = make_product("one")
    publish(ProductSource)
    with pytest.raises(DatabaseError, match="no_such_table"):  # noqa: SIM117
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("SELECT 1 FROM no_such_table")
    product.save()
    assert len(recorded()) == 1


@pytest.fixture
def two_sections(sections) -> None:
    sections.register("products", ProductSource)
    sections.register("more", limited(5))


@pytest.mark.usefixtures("two_sections")
class TestInTestRuns:
    """TRACK is not set, so nothing is recorded while tests run."""

    @pytest.fixture(autouse=True)
    def automatic(self, configure) -> None:
        configure(TRACK=None)

    @pytest.mark.database
    def test_a_create_in_a_test_case_is_one_query(self):
        """With two sections, before they are built and after."""
        assert len(create("one")) == 1
        build()
        assert len(create("two")) == 1
        assert recorded() == []

    def test_contrib_classes_ask_for_no_models(self, sections):
        """Which only a build knows, or their items()."""
        sections.register("contrib", Sitemap)
        assert len(create("one")) == 1

    @pytest.mark.database
    def test_tracking_records(self):
        """Inside the block alone, of what was built before it or in it."""
        build()
        with tracking():
            Product.objects.create(name="one", slug="one")
            assert Change.objects.count() == 2
        Product.objects.create(name="two", slug="two")
        assert Change.objects.count() == 2

    def test_tracking_knows_nothing_of_the_test_before(self):
        """Whose plans were rolled back, as at the end of each TestCase."""
        known.add("products")
        with tracking():
            create("one")
            assert recorded() == []

    def test_a_process_that_runs_no_tests_records(self, monkeypatch):
        build()
        monkeypatch.delattr(_TestState, "saved_data")
        create("one")
        assert Change.objects.count() == 2


@pytest.mark.usefixtures("two_sections")
class TestUnread:
    """Nothing is built and no engine is notified."""

    @pytest.mark.database
    def test_a_process_asks_once_in_ten_seconds(self, monkeypatch):
        """One query for both sections; then a save is the user's statement alone."""
        now = time.monotonic()
        monkeypatch.setattr(time, "monotonic", lambda: now)
        counts = [len(create(name)) for name in ("one", "two", "three")]
        now += 9.9
        counts += [len(create("four"))]
        now += 0.2
        counts += [len(create("five")), len(create("six"))]
        asked = counts[0]
        assert asked <= 6  # in a transaction of PostgreSQL there are savepoints
        assert counts == [asked, 1, 1, 1, asked, 1]

    def test_a_plan_of_another_process_is_known_after_ten_seconds(self, monkeypatch):
        create("one")
        build()
        known._read.clear()  # as in a process that has not built
        create("two")
        assert recorded() == []
        later = time.monotonic() + 10
        monkeypatch.setattr(time, "monotonic", lambda: later)
        create("three")
        assert Change.objects.count() == 2

    @pytest.mark.database
    def test_it_is_recorded_while_the_plans_cannot_be_read(self, monkeypatch):
        """Their database may be another one, which is down: it is asked once."""
        build()
        known.forget()
        with monkeypatch.context() as patch:
            patch.setattr(Section._meta, "db_table", "no_such_table")
            create("one")
            create("two")
        assert Change.objects.count() == 4

    def test_a_build_in_the_same_process_is_known_at_once(self):
        create("one")
        build(["products"])
        product = Product.objects.create(name="two", slug="two")
        assert recorded() == keys(product)

    def test_many_deletes_ask_once(self):
        """A receiver takes the fast delete, and is called for each row."""
        make_products(50)
        said = statements(Product.objects.all().delete)
        assert len([sql for sql in said if "sitemaps_plus_" in sql]) == 1

    def test_relations_ask_once(self, sections):
        """Also of the far side, for several objects."""
        [book] = make_books(Author.objects.create(name="one"), 1)
        sections.register("books", TaggedSource)
        tags = [Tag.objects.create(name=name) for name in "ab"]
        book.save()
        said = statements(lambda: book.tags.add(*tags))
        said += statements(tags[0].book_set.clear)
        assert not [sql for sql in said if "sitemaps_plus_" in sql]
        build(["books"])
        tags[1].book_set.remove(book)
        assert ("related", str(book.pk)) in [(kind, low) for kind, low, _ in recorded()]


POSTS = {"model": Post, "location": Route("book-detail", slug="pk")}

SOME_BOOK = Book.objects.filter(slug=OuterRef("slug"))


def rows(change):
    return {"get_queryset": lambda self: change(Product.objects.all())}


def method(self, obj):
    return obj.popularity


# What a source says, the columns that count then, and one that does not.
TOLD = {
    "declared": ({}, "slug updated_at", "popularity"),
    "order": (rows(lambda p: p.order_by("name")), "slug", "name"),  # keys decide it
    "path": ({"priority": "popularity"}, "popularity slug", "name"),
    "F": ({"priority": F("popularity")}, "popularity", "name"),
    "case of Q": (
        {
            "priority": Case(
                When(Q(popularity__gt=5) | ~Q(name="x"), then=Value(0.9)),
                default=Value(0.1),
            )
        },
        "popularity name",
        "created_on",
    ),
    "route": (
        {"location": Route("product-detail", slug=Lower("name"))},
        "name",
        "slug",
    ),
    "filter": (rows(lambda p: p.filter(published=True)), "published", "name"),
    "F in a filter": (
        rows(lambda p: p.filter(updated_at__gt=F("created_on"))),
        "created_on",
        "name",
    ),
    "transform": (
        rows(lambda p: p.filter(created_on__year=2026)),
        "created_on",
        "name",
    ),
    "annotation": (
        {"priority": "score", **rows(lambda p: p.annotate(score=F("popularity")))},
        "popularity",
        "name",
    ),
    "alias": (
        rows(lambda p: p.alias(x=Lower("frequency")).filter(x="daily")),
        "frequency",
        "name",
    ),
}

# What cannot be told counts as a whole.
UNTOLD = {
    "method": {"priority": method},
    "no location": {"location": None},
    "Exists": rows(lambda p: p.filter(Exists(SOME_BOOK))),
    "Subquery": rows(
        lambda p: p.annotate(x=Subquery(SOME_BOOK.values("slug"))).filter(x=None)
    ),
    "RawSQL": rows(lambda p: p.annotate(x=RawSQL("popularity", ())).filter(x=None)),
    "extra": rows(lambda p: p.extra(where=["popularity IS NULL"])),
    "declared Exists": {"priority": Case(When(Exists(SOME_BOOK), then=0.9))},
    "declared RawSQL": {"priority": RawSQL("popularity", ())},
    "fails": rows(lambda p: p.filter(no_such_column=1)),
    "join of others": rows(joined),
}


@pytest.fixture
def planned(sections, monkeypatch):
    """Register a source as if it had a plan, whether it can be built or not."""
    monkeypatch.setattr(recording, "is_read", lambda section, using: True)

    def planned(source=ProductSource, name="products", **attributes):
        sections.register(name, like(source, **attributes))

    return planned


@pytest.mark.parametrize("name", TOLD)
def test_a_column_that_is_named_counts_and_another_does_not(planned, name):
    attributes, counting, other = TOLD[name]
    product = make_product("one")
    planned(**attributes)
    product.save(update_fields=[other])
    assert recorded() == []
    for column in counting.split():
        product.save(update_fields=[column])
    assert recorded() == keys(product) * len(counting.split())


@pytest.mark.parametrize("name", UNTOLD)
def test_every_column_counts_where_nobody_can_tell(planned, name):
    """A method may read anything, and so may SQL that we do not see into."""
    product = make_product("one")
    planned(**UNTOLD[name])
    product.save(update_fields=["popularity"])
    assert recorded() == keys(product)


LIVE = Case(When(is_live=True, then=Value(0.9)), default=Value(0.1))


@pytest.mark.parametrize(
    "declared",
    [
        {"get_queryset": lambda self: Post.objects.filter(is_live=True)},
        {"get_queryset": lambda self: Post.objects.alias(x=F("is_live")).filter(x=1)},
        {"priority": LIVE},
    ],
    ids=["filter", "alias", "declared"],
)
def test_what_a_generated_column_is_computed_from_counts(planned, declared):
    """A save names these alone, and no other column for it."""
    planned(BookSource, **POSTS | declared)
    post = Post.objects.bulk_create([Post(slug="one")])[0]
    post.save(update_fields=["visits"])
    assert recorded() == []
    post.save(update_fields=["published_at"])
    assert recorded() == keys(post)


def test_a_generated_column_behind_a_relation(planned):
    """It is the other model's save that counts then."""
    planned(
        BookSource, **POSTS | {"model": Country, "priority": times("post__is_live")}
    )
    post = Post.objects.bulk_create([Post(slug="one")])[0]
    post.save(update_fields=["visits"])
    assert recorded() == []
    post.save(update_fields=["published_at"])
    assert [row[:2] for row in recorded()] == [("related", str(post.pk))]


def test_the_condition_of_a_filtered_relation_counts(planned):
    """A column there stands nowhere else in the query, until a path crosses it."""
    author = FilteredRelation("author", condition=Q(author__name=F("slug")))
    planned(
        BookSource,
        location=Route("book-detail", slug="pk"),
        lastmod="writer__updated_at",
        get_queryset=lambda self: Book.objects.alias(writer=author),
    )
    [book] = make_books(Author.objects.create(name="a"), 1)
    before = recorded()
    book.save(update_fields=["slug"])
    assert recorded() == before + keys(book)


def test_a_file_that_is_the_image_counts(planned):
    """A save of it alone is recorded, for its row and for those that refer to it."""
    planned(BookSource, "paintings", model=Painting, images="photo")
    planned(BookSource, "reprints", model=Reprint, images="painting__photo")
    painting = Painting.objects.bulk_create([Painting(slug="one")])[0]
    painting.save(update_fields=["slug"])
    assert recorded() == keys(painting)
    painting.save(update_fields=["photo"])
    assert [row[:2] for row in recorded()[1:]] == [
        ("key", str(painting.pk)),
        ("related", str(painting.pk)),
    ]


def test_where_the_queryset_joins_every_column_counts(planned):
    """The one that points to the other row decides whether its own is listed."""
    [book] = make_books(Author.objects.create(name="x"), 1)
    joins = {"get_queryset": lambda self: Book.objects.filter(author__name="x")}
    planned(BookSource, **joins)
    book.save(update_fields=["author"])
    assert recorded() == keys(book)
