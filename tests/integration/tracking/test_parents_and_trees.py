"""Rows of other names and tables: proxies, children, parents, and trees of rows."""

import pytest
from django.contrib.sitemaps import GenericSitemap
from django.db import connection
from django.db.models.signals import m2m_changed, post_delete, post_save
from django.test.utils import CaptureQueriesContext

from django_sitemaps_plus import under
from django_sitemaps_plus.tracking import collecting
from tests.support.testapp.models import (
    Annex,
    Author,
    Book,
    Cafe,
    Genre,
    Meal,
    Museum,
    Opera,
    Place,
    PlaceProxy,
    Product,
    Show,
    Tag,
    Theatre,
    Topic,
    Venue,
)
from tests.support.trees import CallableSource, PathSource

from .rows import (
    BookSource,
    PlaceSource,
    keys,
    like,
    load,
    make_books,
    make_product,
    noticed,
    recorded,
    times,
)

#: Cafes by a column of the places that they are; one a page.
CafeSource = like(PlaceSource, model=Cafe, limit=1)

#: Their keys are not those of their venues.
TheatreSource = like(CafeSource, model=Theatre)


@pytest.fixture
def cafes():
    """Three cafes; the key of each is that of its place."""
    Place.objects.create(slug="no-cafe")
    return [Cafe.objects.create(slug=f"cafe-{n}") for n in range(3)]


def make_theatres(model):
    for n in range(5):
        Venue.objects.create(slug=f"venue-{n}")
    return [model.objects.create(slug=f"theatre-{n}") for n in range(3)]


@pytest.fixture
def theatres():
    return make_theatres(Theatre)


@pytest.mark.parametrize(
    ("listed", "model"), [(Place, PlaceProxy), (PlaceProxy, Place)]
)
def test_a_proxy_and_the_model_behind_it_are_the_same(publish, listed, model):
    place = Place.objects.create(slug="one")
    publish(like(PlaceSource, model=listed))
    saved = model.objects.get(pk=place.pk)
    saved.save()
    saved.delete()
    assert recorded() == keys(place) * 2


def test_a_child_is_saved_and_deleted_with_its_parents_columns(publish):
    cafe = Cafe.objects.create(slug="one", seats=4)
    publish(PlaceSource)
    cafe.save(update_fields=["seats"])
    assert recorded() == []
    change = keys(cafe)
    cafe.save()
    assert recorded() == change
    cafe.delete()
    assert set(recorded()) == set(change)


@pytest.mark.database
def test_rows_of_a_fixture_are_recorded(publish, tmp_path):
    """A raw child has only the link to its parent, which has a row of its own."""
    publish(PlaceSource)
    parent = {"model": "testapp.place", "pk": 7, "fields": {"slug": "one"}}
    load(tmp_path, parent, {"model": "testapp.cafe", "pk": 7, "fields": {"seats": 4}})
    assert recorded() == [("key", "7", "")]


GenericCafes = like(GenericSitemap, limit=1, location=lambda _, cafe: f"/{cafe.slug}/")


@pytest.mark.database
@pytest.mark.parametrize(
    "source", [CafeSource, GenericCafes({"queryset": Cafe.objects.all()})]
)
@pytest.mark.parametrize(
    ("model", "act"),
    [
        *[(model, "save") for model in (Place, PlaceProxy)],
        # The child goes with the parent, and says so itself.
        *[(model, "delete") for model in (Place, Cafe)],
    ],
)
def test_what_becomes_of_a_row_under_its_parents_name_marks_its_page(
    publish, cafes, source, model, act
):
    section = publish(source)
    getattr(model.objects.get(pk=cafes[1].pk), act)()
    assert noticed(section) == [2]


@pytest.mark.parametrize("key", ["pk", "slug"])
def test_a_child_is_found_by_its_link_whatever_its_key_is(publish, theatres, key):
    section = publish(like(TheatreSource, key=key))
    Venue.objects.get(slug="theatre-1").save()
    assert noticed(section) == [2]


@pytest.mark.parametrize(("model", "key"), [(Venue, "venue_id"), (Theatre, "pk")])
def test_parents_further_up_are_watched(publish, model, key):
    operas = make_theatres(Opera)
    section = publish(like(CafeSource, model=Opera))
    model.objects.get(pk=getattr(operas[2], key)).save()
    assert noticed(section) == [3]


def test_another_child_of_the_same_parent_is_watched(publish, theatres, tmp_path):
    """What is a theatre and a museum has one slug, which a raw museum leaves alone."""
    section = publish(TheatreSource)
    key = theatres[1].venue_id
    load(tmp_path, {"model": "testapp.museum", "pk": key, "fields": {}})
    assert noticed(section) == []
    Museum(venue_ptr_id=key, slug="moved").save()
    assert noticed(section) == [2]


def test_a_parent_that_is_no_child_marks_nothing(publish, cafes):
    """Only the reader knows, and it has no page of its own."""
    section = publish(CafeSource)
    Place.objects.get(slug="no-cafe").save()
    Place.objects.create(slug="new")
    assert noticed(section) == []
    assert recorded() == []


def test_a_column_that_no_page_shows_writes_nothing(publish, cafes):
    section = publish(CafeSource)
    place = Place.objects.get(pk=cafes[1].pk)
    place.save(update_fields=["visits"])
    assert recorded() == []
    place.save(update_fields=["slug"])
    assert noticed(section) == [2]


def test_a_save_of_the_child_is_one_change(publish, cafes):
    publish(CafeSource)
    cafes[1].save()
    assert recorded() == keys(cafes[1])


@pytest.mark.parametrize(
    "declared", [{"changefreq": "theatre__slug"}, {"watch": {Theatre: "show"}}]
)
def test_the_parent_of_what_rows_refer_to_is_watched(publish, theatres, declared):
    for n, theatre in enumerate(theatres):
        Show.objects.create(theatre=theatre, slug=f"show-{n}")
    section = publish(like(CafeSource, model=Show, **declared))
    Venue.objects.get(slug="theatre-1").save()
    assert noticed(section) == [2]


def of_theatres():
    return like(TheatreSource, priority=times("tags__name"))


def of_books():
    books = make_books(Author.objects.create(name="one"), 3)
    books[1].tags.add(Tag.objects.get())
    return like(BookSource, limit=1, watch={Theatre: "tags__book"})


@pytest.mark.parametrize("source", [of_theatres, of_books])
@pytest.mark.parametrize(
    ("is_tagged", "act"),
    [
        (False, lambda venue, tag: venue.tags.add(tag)),
        (False, lambda venue, tag: venue.theatre.tags.add(tag)),
        (False, lambda venue, tag: tag.venue_set.add(venue)),
        (True, lambda venue, tag: venue.tags.remove(tag)),
        (True, lambda venue, tag: tag.venue_set.remove(venue)),
    ],
    ids=["parent", "child", "far side", "remove", "far remove"],
)
def test_a_relation_of_the_parent_is_watched(publish, theatres, source, is_tagged, act):
    """Its table holds keys of the parent, whatever key the child has."""
    tag, venue = Tag.objects.create(name="t"), theatres[1].venue
    if is_tagged:
        venue.tags.add(tag)
    section = publish(source())
    act(venue, tag)
    assert noticed(section) == [2]


def test_a_path_of_watch_may_end_at_the_parent(publish, cafes):
    """Which has no name for the link that is the key of its child."""
    section = publish(like(CafeSource, watch={Meal: "place"}))
    Meal.objects.create(place_id=cafes[1].pk)
    assert noticed(section) == [2]


def test_a_path_of_watch_may_end_at_what_a_key_refers_to(publish):
    """Whatever the link is called, and though nothing leads back by it."""
    annexes = [Annex.objects.create(slug=f"annex-{n}") for n in range(3)]
    section = publish(like(CafeSource, model=Annex, watch={Museum: "venue_ptr"}))
    Museum.objects.create(venue_ptr_id=annexes[1].pk, slug="annex-1")
    assert noticed(section) == [2]


GenreSource = like(
    PathSource, model=Genre, watch={Genre: under("tree_id", "lft", "rght")}
)

TOPICS = ["0001", "00010001", "000100010001", "00010002", "0002", "00020001"]

GENRES = [(1, 1, 8), (1, 2, 5), (1, 3, 4), (1, 6, 7), (2, 1, 4), (2, 2, 3)]


@pytest.fixture
def topics():
    made = [Topic(path=path, slug=f"t{n}") for n, path in enumerate(TOPICS, 1)]
    Topic.objects.bulk_create(made)
    return list(Topic.objects.order_by("pk"))


@pytest.fixture
def genres():
    names = ("tree_id", "lft", "rght")
    made = [
        Genre(slug=f"g{n}", **dict(zip(names, values, strict=True)))
        for n, values in enumerate(GENRES, 1)
    ]
    Genre.objects.bulk_create(made)
    return list(Genre.objects.order_by("pk"))


class TestDescendants:
    @pytest.mark.database
    @pytest.mark.parametrize("source", [PathSource, CallableSource])
    @pytest.mark.parametrize(
        ("number", "pages"), [(1, [1, 2, 3, 4]), (2, [2, 3]), (6, [6])]
    )
    def test_a_save_marks_the_rows_below_as_well(
        self, publish, topics, source, number, pages
    ):
        section = publish(source)
        topics[number - 1].save()
        assert noticed(section) == pages
        assert recorded() == []

    @pytest.mark.database
    @pytest.mark.parametrize(
        ("number", "pages"), [(1, [1, 2, 3, 4]), (2, [2, 3]), (6, [6])]
    )
    def test_nested_sets(self, publish, genres, number, pages):
        section = publish(GenreSource)
        genres[number - 1].save()
        assert noticed(section) == pages

    def test_a_declared_path_to_the_row_above_needs_no_watch(self, publish, genres):
        Genre.objects.filter(pk=genres[2].pk).update(parent=genres[1])
        section = publish(like(GenreSource, watch={}, changefreq="parent__slug"))
        genres[1].save()
        assert noticed(section) == [2, 3]

    @pytest.mark.database
    def test_a_save_asks_for_no_rows(self, publish, topics):
        """It writes its changes by one statement; the build asks."""
        section = publish(CallableSource)
        topics[0].save()
        noticed(section)
        with CaptureQueriesContext(connection) as queries:
            topics[0].save()
        said = [query["sql"] for query in queries]
        assert [sql for sql in said if "startswith" in sql or "LIKE" in sql] == []
        assert len([sql for sql in said if "INSERT INTO" in sql]) == 1

    @pytest.mark.database
    @pytest.mark.parametrize(
        ("source", "fixture"), [(PathSource, "topics"), (GenreSource, "genres")]
    )
    def test_many_rows_need_one_query(self, publish, request, source, fixture):
        rows = request.getfixturevalue(fixture)
        section = publish(source)
        asked = []
        for changed in (rows[1:2], rows[1:]):
            for row in changed:
                row.save()
            with CaptureQueriesContext(connection) as queries:
                found = noticed(section)
            table = source.model._meta.db_table
            reads = [q["sql"] for q in queries if q["sql"].startswith("SELECT")]
            of_table = f"FROM {connection.ops.quote_name(table)}"
            asked.append(len([sql for sql in reads if of_table in sql]))
        assert asked[0] == asked[1]
        assert found == [2, 3, 4, 5, 6]

    @pytest.mark.database
    @pytest.mark.parametrize("source", [PathSource, CallableSource])
    def test_too_many_rows_mark_the_section(self, publish, topics, monkeypatch, source):
        monkeypatch.setattr(collecting, "MAX_RELATED", 2)
        section = publish(source)
        topics[0].save()
        assert noticed(section) == [1, 2, 3, 4, 5, 6]

    def test_a_row_that_has_gone_meanwhile_marks_nothing(self, publish, topics):
        section = publish(PathSource)
        topics[5].save()
        Topic.objects.filter(pk=topics[5].pk)._raw_delete("default")
        assert noticed(section) == [6]

    def test_under_a_row_all_is_deleted_with_it(self, publish, topics):
        """The rows below are deleted as well, each with a change of its own."""
        section = publish(PathSource)
        Topic.objects.filter(path__startswith=topics[1].path).delete()
        assert noticed(section) == [2, 3]

    def test_a_callable_cannot_be_called_so_the_section_is_marked(
        self, publish, topics
    ):
        section = publish(CallableSource)
        topics[5].delete()
        assert noticed(section) == [1, 2, 3, 4, 5, 6]


class TestOtherModels:
    def test_a_callable_is_given_the_saved_object(self, publish):
        """It may be of any model, and returns rows of the section."""
        one, two = [Author.objects.create(name=name) for name in ("one", "two")]
        make_books(one, 2, "a")
        make_books(two, 2, "b")
        rows = {Author: lambda author: Book.objects.filter(author=author)}
        section = publish(like(BookSource, limit=2, watch=rows))
        two.save()
        assert noticed(section) == [2]

    def test_rows_of_a_parent_are_those_of_the_child(self, publish):
        """They share a row, and have the key of each other."""
        Place.objects.create(slug="no-cafe")
        cafes = [Cafe.objects.create(slug=f"c{n}") for n in range(2)]
        meal = Meal.objects.create(place_id=cafes[1].pk)
        watch = {Meal: lambda meal: Place.objects.filter(meal=meal)}
        section = publish(like(CafeSource, watch=watch))
        meal.save()
        assert noticed(section) == [2]

    @pytest.mark.parametrize(
        "rows",
        [
            lambda topic: 1 / 0,
            lambda topic: None,
            lambda topic: [topic],
            lambda topic: Author.objects.all(),
            lambda topic: Topic.objects.all()[:1],
            lambda topic: Topic.objects.extra(where=["nowhere = 1"]),
            lambda: None,
        ],
        ids=["raises", "none", "list", "others", "slice", "query", "arguments"],
    )
    def test_one_that_fails_marks_the_section(self, publish, topics, messages, rows):
        """And the log names it; neither the save nor the build fails."""
        section = publish(like(PathSource, watch={Topic: rows}))
        topics[0].save()
        assert noticed(section) == [1, 2, 3, 4, 5, 6]
        assert recorded() == []
        (message,) = messages("watch_failed")
        assert "testapp.Topic" in message


class TestSignalsByHand:
    """Code that copies what save() does, but leaves out the database."""

    @pytest.mark.parametrize("signal", [post_save, post_delete])
    @pytest.mark.parametrize("is_from_database", [True, False])
    def test_the_database_is_that_of_the_object_or_of_the_router(
        self, publish, signal, is_from_database
    ):
        product = make_product("one")
        section = publish(like(BookSource, model=Product))
        signal.send(
            Product, instance=product if is_from_database else Product(pk=product.pk)
        )
        assert noticed(section) == [1]

    def test_a_relation(self, publish):
        book = make_books(Author.objects.create(name="one"), 1)[0]
        section = publish(like(BookSource, images="tags__name"))
        signal = {"instance": book, "action": "post_clear", "model": Book}
        m2m_changed.send(Book.tags.through, **signal)
        assert noticed(section) == [1]
