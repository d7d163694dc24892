"""Objects that rows refer to, or that refer to rows, are watched by one change each."""

from types import SimpleNamespace
from typing import Any

import pytest
from django.db import connection
from django.db.models import F, Q
from django.db.models.functions import Coalesce
from django.test.utils import CaptureQueriesContext

from django_sitemaps_plus import Route
from django_sitemaps_plus.section import open_section
from django_sitemaps_plus.tracking import collecting, relations
from django_sitemaps_plus.tracking.deploys import fingerprint
from tests.support.rendered import SITE
from tests.support.testapp.models import (
    Actor,
    Author,
    Book,
    Country,
    Film,
    Gallery,
    Loan,
    Note,
    Painting,
    Photo,
    Picture,
    Reprint,
    Role,
    Tag,
    Town,
    Wing,
)

from .rows import (
    BookSource,
    can_fast_delete,
    keys,
    like,
    make_books,
    noticed,
    recorded,
    times,
)

HIDDEN = Q(author__name="closed")


class Watching(BookSource):
    """Its pages depend on authors, as the project says."""

    limit = 5
    watch = {Author: "book"}


class Dated(BookSource):
    """Its pages depend on authors, as the declared path says."""

    limit = 5
    lastmod = "author__updated_at"


Tagged = like(BookSource, limit=5, priority=times("tags__name"))

#: Its path ends at the relation, not at a column behind it.
Counted = like(Tagged, priority=times("tags"))

#: The same by a lookup of the relation.
Tagless = like(Tagged, priority=times("pk", filter=Q(tags__isnull=True)))


class Filtered(BookSource):
    """Tags decide what it lists, as its filter and the project say."""

    limit = 5
    watch = {Tag: "book"}

    def get_queryset(self):
        is_listed = Q(tags=None) | Q(tags__name__gt="")
        return super().get_queryset().filter(is_listed).distinct()


class ShelfSource(BookSource):
    """Authors, whose pages depend on the tags of their books; two a page."""

    model = Author
    limit = 2
    location = Route("book-detail", slug="pk")
    priority = times("book__tags__name")


@pytest.fixture
def library():
    one, two = [Author.objects.create(name=name) for name in ("one", "two")]
    return one, make_books(one, 10, "a"), two, make_books(two, 10, "b")


@pytest.mark.database
class TestAuthors:
    @pytest.mark.parametrize("source", [Watching, Dated])
    def test_a_save_is_one_change_and_a_deletion_concerns_any_row(
        self, publish, library, source
    ):
        """Of one that is deleted nobody can tell any more which rows it concerned."""
        one = library[0]
        section = publish(source)
        one.save()
        assert [row[:2] for row in recorded()] == [("related", str(one.pk))]
        assert noticed(section) == [1, 2]
        one.delete()
        assert "unknown" in [kind for kind, _, _ in recorded()]
        assert noticed(section) == [1, 2, 3, 4]

    def test_a_column_behind_no_declared_path_writes_nothing(self, publish, library):
        publish(Dated)
        library[0].save(update_fields=["name"])
        assert recorded() == []
        library[0].save(update_fields=["updated_at"])
        assert len(recorded()) == 1

    def test_a_row_that_changes_its_author_is_recorded(self, publish, library):
        """update_fields may name the field or its column."""
        _, books, two, _ = library
        publish(Dated)
        books[0].author = two
        books[0].save(update_fields=["author"])
        books[1].author_id = two.pk
        books[1].save(update_fields=["author_id"])
        assert recorded() == keys(*books[:2])

    @pytest.mark.parametrize(("most", "pages"), [(10, [1, 2]), (9, [1, 2, 3, 4])])
    def test_more_rows_than_are_located_mark_the_section(
        self, publish, library, monkeypatch, most, pages
    ):
        monkeypatch.setattr(collecting, "MAX_RELATED", most)
        section = publish(Watching)
        library[0].save()
        assert noticed(section) == pages
        assert recorded() == []

    def test_many_related_objects_together_are_too_many(
        self, publish, library, monkeypatch
    ):
        """What counts is the sum of a batch, and no query reads more rows."""
        monkeypatch.setattr(collecting, "MAX_RELATED", 15)
        section = publish(like(Dated, watch=Watching.watch))
        library[0].save()
        library[2].save()
        with CaptureQueriesContext(connection) as queries:
            assert noticed(section) == [1, 2, 3, 4]
        reads = [q["sql"] for q in queries if "testapp_book" in q["sql"]]
        assert reads
        assert all("LIMIT 16" in sql for sql in reads)

    def test_a_foreign_key_to_another_column(self, publish):
        """A change holds the primary key, which is not what the rows hold."""
        country = Country.objects.create(code="fr", name="weekly")
        Town.objects.create(country=country, slug="paris")
        section = publish(like(BookSource, model=Town, changefreq="country__name"))
        country.save()
        assert noticed(section) == [1]

    @pytest.mark.parametrize("path", ["book", "book__slug"])
    def test_a_row_behind_a_path_that_moves_is_watched(self, publish, library, path):
        """The column that links it counts, for it is new on its author's page."""
        _, books, two, _ = library
        section = publish(like(ShelfSource, limit=1, priority=times(path)))
        books[0].author = two
        books[0].save(update_fields=["author"])
        assert noticed(section) == [2]


@pytest.mark.parametrize(
    ("watched", "pages"),
    [
        ("book", [1, 2]),
        (lambda author: Book._base_manager.filter(author=author), [1, 2]),
        (lambda author: Book.objects.filter(author=author).exclude(HIDDEN), []),
    ],
    ids=["path", "base manager", "manager that hides"],
)
def test_rows_that_a_save_hides_are_found_by_what_hides_none(
    publish, library, watched, pages
):
    """As the reference says: a queryset that hides them cannot lead to them."""
    shown = {"get_queryset": lambda self: Book.objects.exclude(HIDDEN)}
    section = publish(like(Watching, watch={Author: watched}, **shown))
    library[0].name = "closed"
    library[0].save()
    assert noticed(section) == pages


@pytest.mark.parametrize(
    "images", ["picture", F("picture"), Coalesce("picture", "picture")]
)
def test_an_object_that_is_an_image_is_watched(publish, images):
    """Any of its columns may make its URL."""
    painting = Painting.objects.create(slug="p")
    pictures = [Picture.objects.create(name=name) for name in "ab"]
    for picture in pictures:
        Reprint.objects.create(painting=painting, picture=picture, slug=picture.name)
    section = publish(like(BookSource, model=Reprint, images=images, limit=1))
    pictures[1].save(update_fields=["name"])
    assert noticed(section) == [2]


class TestManyToMany:
    """Books with tags: five a page, so book 0 is on page 1 and book 7 on page 2."""

    @pytest.fixture(
        params=[
            Tagged,
            *(Counted, Tagless),
            pytest.param(Filtered, marks=pytest.mark.database),
        ]
    )
    def tagged(self, request, library, publish):
        tag, other = Tag.objects.create(name="t"), Tag.objects.create(name="o")
        library[1][7].tags.add(tag)
        return publish(request.param), library[1], tag, other

    @pytest.mark.parametrize(
        ("act", "pages"),
        [
            (lambda books, tag, other: books[0].tags.add(tag), [1]),
            (lambda books, tag, other: books[7].tags.remove(tag), [2]),
            (lambda books, tag, other: books[7].tags.clear(), [2]),
            (lambda books, tag, other: books[7].tags.set([other]), [2]),
            (lambda books, tag, other: tag.book_set.add(books[0]), [1]),
            (lambda books, tag, other: tag.book_set.remove(books[7]), [2]),
            (lambda books, tag, other: tag.book_set.set([books[0]]), [1, 2]),
            (lambda books, tag, other: tag.save(), [2]),
            (lambda books, tag, other: tag.book_set.clear(), [1, 2, 3, 4]),
            (lambda books, tag, other: tag.delete(), [1, 2, 3, 4]),
        ],
        ids=[
            *("row-add", "row-remove", "row-clear", "row-set", "tag-add", "tag-remove"),
            *("tag-set", "tag-save", "tag-clear", "tag-delete"),
        ],
    )
    def test_a_relation_that_is_changed_marks_the_pages_of_its_rows(
        self, tagged, act, pages
    ):
        """From either side; all pages only where nobody can tell the rows any more."""
        section, *things = tagged
        act(*things)
        assert noticed(section) == pages

    def test_a_row_counts_once_however_many_of_its_tags_were_saved(
        self, tagged, monkeypatch
    ):
        section, books, *tags = tagged
        for tag in tags:
            tag.book_set.set(books)
        noticed(section)
        section.pages.update(wanted=100, built=100)
        monkeypatch.setattr(collecting, "MAX_RELATED", 10)
        for tag in tags:
            tag.save()
        assert noticed(section) == [1, 2]

    @pytest.mark.parametrize("path", ["pk", "name", "nowhere", "book__nowhere"])
    def test_a_path_that_leads_nowhere_marks_all_pages(self, library, publish, path):
        """And keeps no project from starting."""
        section = publish(like(Filtered, watch={Tag: path}))
        Tag.objects.create(name="t")
        assert noticed(section) == [1, 2, 3, 4]

    @pytest.mark.parametrize("watch", [{"testapp.Tag": "book"}, {Tag: 5}, [Tag], None])
    def test_what_cannot_be_watched_keeps_no_project_from_starting(
        self, publish, library, watch
    ):
        """A system check says what is wrong; the rest is watched."""
        section = publish(like(Dated, watch=watch))
        library[0].save()
        assert noticed(section) == [1, 2]

    @pytest.mark.database
    def test_a_source_from_the_far_side(self, publish, library):
        tag = Tag.objects.create(name="t")
        priority = times("book__slug")
        section = publish(like(ShelfSource, model=Tag, priority=priority))
        library[1][0].tags.add(tag)
        assert noticed(section) == [1]

    @pytest.mark.database
    @pytest.mark.parametrize(
        ("act", "pages"),
        [
            (lambda books, tag: books[0].tags.add(tag), [1]),
            (lambda books, tag: books[3].tags.clear(), [2]),
            (lambda books, tag: tag.book_set.add(books[4]), [3]),
            (lambda books, tag: tag.book_set.remove(books[3]), [2]),
            (lambda books, tag: tag.book_set.clear(), [1, 2, 3]),
            (lambda books, tag: books[0].save(), [1]),
            (lambda books, tag: tag.save(), [2]),
        ],
        ids=[
            *("near-add", "near-clear", "far-add", "far-remove", "far-clear"),
            *("near-save", "far-save"),
        ],
    )
    def test_a_relation_further_away(self, publish, act, pages):
        """Five authors, two a page; the books of the first are on page 1, and so on."""
        authors = [Author.objects.create(name=f"{n}") for n in range(5)]
        books = [make_books(author, 2, f"b{author.pk}")[0] for author in authors]
        tag = Tag.objects.create(name="t")
        books[3].tags.add(tag)
        section = publish(ShelfSource)
        act(books, tag)
        assert noticed(section) == pages


class FilmSource(BookSource):
    model = Film
    limit = 2
    priority = times("cast__name")


#: The same, as the project says.
CastSource = like(FilmSource, priority=None, watch={Actor: "film"})


class BySlug(FilmSource):
    """Pages that are ranges of slugs, which a row between does not hold."""

    key, limit = "slug", 3  # of which a first plan leaves one free


class PartnerSource(BookSource):
    """Its pages depend on everybody who plays in the films of an actor."""

    model = Actor
    limit = 2
    location = Route("book-detail", slug="pk")
    priority = times("film__cast__name")


@pytest.fixture
def films():
    Film.objects.bulk_create([Film(slug=f"film-{n}") for n in range(6)])
    return list(Film.objects.order_by("pk"))


@pytest.fixture
def role(films):
    actor = Actor.objects.create(name="one")
    return Role.objects.bulk_create([Role(film=films[5], actor=actor)])[0]


def moved(role, film):
    role.film = film
    role.save()


def moved_alone(role, film):
    role.film = film
    role.save(update_fields=["film_id"])


@pytest.mark.parametrize(
    "source", [FilmSource, CastSource, pytest.param(BySlug, marks=pytest.mark.database)]
)
class TestNearSide:
    @pytest.mark.parametrize(
        ("act", "page"),
        [
            (lambda role, film: Role.objects.create(film=film, actor=role.actor), 2),
            (moved, 2),
            (moved_alone, 2),
            (lambda role, film: film.cast.add(role.actor), 2),
            (lambda role, film: role.save(update_fields=["character"]), 3),
            (lambda role, film: role.delete(), 3),
            (lambda role, film: Role.objects.filter(pk=role.pk).delete(), 3),
            (lambda role, film: role.film.cast.remove(role.actor), 3),
            (lambda role, film: role.film.cast.clear(), 3),
            (lambda role, film: role.actor.film_set.remove(role.film), 3),
        ],
        ids=[
            *("create", "move", "move alone", "add", "column", "delete", "queryset"),
            *("remove", "clear", "far remove"),
        ],
    )
    def test_a_row_marks_the_page_it_leads_to(
        self, publish, films, role, source, act, page
    ):
        """And no other: one that is deleted still says which film it was of."""
        section = publish(source)
        act(role, films[2])
        assert noticed(section) == [page]

    def test_track_deletes_off_keeps_the_fast_delete(
        self, publish, films, role, source
    ):
        """Saves are recorded all the same."""
        section = publish(like(source, track_deletes=False))
        assert can_fast_delete(Role)
        Role.objects.create(film=films[0], actor=role.actor)
        Role.objects.all().delete()
        assert noticed(section) == [1]


def test_a_model_between_from_the_far_side(publish, films, role):
    others = [Actor.objects.create(name=f"{n}") for n in range(2)]
    section = publish(like(PartnerSource, priority=times("film__slug")))
    Role.objects.create(film=films[0], actor=others[1]).delete()
    assert noticed(section) == [2]


def test_a_model_between_is_found_by_the_path_before_it(publish, films, role):
    others = [Actor.objects.create(name=f"{n}") for n in range(4)]
    Role.objects.bulk_create([Role(film=films[0], actor=others[3])])
    section = publish(PartnerSource)
    made = Role.objects.create(film=films[0], actor=others[0])
    assert len(recorded()) == 2
    assert noticed(section) == [1, 3]
    made.delete()
    assert noticed(section) == [1, 3]


def test_a_model_between_that_is_listed_itself(publish, films, role):
    section = publish(FilmSource)
    listed = {"model": Role, "location": Route("book-detail", slug="pk")}
    publish(like(BookSource, **listed), "roles")
    made = Role.objects.create(film=films[0], actor=role.actor)
    assert keys(made)[0] in recorded()
    assert noticed(section) == [1]


def test_a_field_that_only_acts_like_one_is_left_to_its_own_signals():
    """Fields of other apps may keep their relations in any table."""
    field = SimpleNamespace(through=Role)
    crossing = relations._crossing(field, Film, relations.Way(Film))
    assert (crossing.link, crossing.field.name) == (None, "id")


HOST = "https://img.example"


class GallerySource(BookSource):
    """Three galleries a page: the first page has galleries 0 to 2, and so on."""

    model = Gallery
    limit = 3
    images: Any = "photos__address"


@pytest.fixture
def galleries() -> list[Gallery]:
    Gallery.objects.bulk_create([Gallery(slug=f"g-{n}") for n in range(9)])
    return list(Gallery.objects.order_by("pk"))


@pytest.fixture
def photo(galleries) -> Photo:
    """A photo of the gallery in the middle, on page 2."""
    photo = Photo(gallery=galleries[4], address=f"{HOST}/a.jpg")
    return Photo.objects.bulk_create([photo])[0]


def save(photo: Photo, *names: str, **fields: Any) -> None:
    for name, value in fields.items():
        setattr(photo, name, value)
    photo.save(update_fields=names or None)


@pytest.mark.parametrize(
    ("act", "pages"),
    [
        (lambda photo, other: save(photo), [2]),
        (lambda photo, other: save(photo, "address"), [2]),
        (lambda photo, other: save(photo, "position"), [2]),
        (lambda photo, other: save(photo, "caption"), []),
        (lambda photo, other: photo.delete(), [2]),
        (lambda photo, other: Photo.objects.filter(pk=photo.pk).delete(), [2]),
        (lambda photo, other: Photo.objects.create(gallery=other), [3]),
        (lambda photo, other: Photo.objects.create(), []),
        (lambda photo, other: save(photo, gallery=other), [3]),
        (lambda photo, other: save(photo, "gallery", gallery=other), [3]),
        (lambda photo, other: other.photos.add(photo, bulk=False), [3]),
    ],
    ids=[
        *("save", "value", "order", "other column", "delete", "delete query", "add"),
        *("add to none", "move", "move alone", "relate"),
    ],
)
def test_a_change_of_a_photo_marks_the_page_of_its_row(
    publish, galleries, photo, act, pages
):
    """Of one that moved that of the new row: the audit finds the other."""
    section = publish(GallerySource)
    act(photo, galleries[8])
    assert noticed(section) == pages
    assert "unknown" not in [kind for kind, _, _ in recorded()]


def test_what_is_deleted_without_tracking_keeps_its_fast_delete(publish, photo):
    section = publish(like(GallerySource, track_deletes=False))
    photo.delete()
    assert recorded() == []
    assert noticed(section) == []


def test_a_photo_two_relations_away(publish, galleries):
    """Each still names the one before it."""
    wing = Wing.objects.create(gallery=galleries[4], name="a")
    photo = Photo.objects.create(wing=wing, address=f"{HOST}/a.jpg")
    section = publish(like(GallerySource, images="wings__pictures__address"))
    for act in (photo.delete, wing.delete):
        act()
        assert noticed(section) == [2]
        section.pages.update(wanted=100, built=100)


def test_the_order_behind_a_relation_with_a_model_of_its_own(publish, galleries, photo):
    Loan.objects.create(gallery=galleries[4], photo=photo)
    section = publish(like(GallerySource, images="loans__address"))
    save(photo, "position")
    assert noticed(section) == [2]


@pytest.mark.database
@pytest.mark.parametrize(
    ("act", "pages"),
    [
        (lambda note, other: save(note), [2]),
        (lambda note, other: save(note, "text"), []),
        (lambda note, other: save(note, "object_id", object_id=other.pk), [3]),
        (lambda note, other: save(note, "content_type"), [2]),
        (lambda note, other: note.delete(), [2]),
        (lambda note, other: Note.objects.create(of=other, address="x"), [3]),
        (lambda note, other: Note.objects.create(of=Photo(pk=other.pk)), []),
    ],
    ids=["save", "other column", "move", "kind", "delete", "add", "add elsewhere"],
)
def test_a_generic_relation(publish, galleries, act, pages):
    note = Note.objects.create(of=galleries[4], address=f"{HOST}/a.jpg")
    section = publish(like(GallerySource, images="notes__address"))
    act(note, galleries[8])
    assert noticed(section) == pages


def test_another_order_is_another_fingerprint(publish, galleries, monkeypatch):
    opened = open_section(publish(GallerySource).name, SITE)
    before = fingerprint(opened)
    assert fingerprint(opened) == before
    monkeypatch.setattr(Photo._meta, "ordering", ["-position"])
    assert fingerprint(opened) != before


@pytest.mark.parametrize("ordering", [["wing__name"], ["wing"], ["-wing__name"]])
def test_columns_of_an_order_further_away_count(
    publish, galleries, photo, monkeypatch, ordering
):
    """A relation is ordered by the order of its model, which is the name as well."""
    monkeypatch.setattr(Photo._meta, "ordering", ordering)
    wing = Wing.objects.create(gallery=galleries[0], name="a")
    Photo.objects.update(wing=wing)
    section = publish(GallerySource)
    wing.name = "b"
    wing.save(update_fields=["name"])
    assert noticed(section) == [2]
