"""Objects that rows refer to are watched, each save by one change."""

from __future__ import annotations

import pytest
from django.db import connection
from django.db.models import Count, F, Q
from django.db.models.functions import Coalesce
from django.test.utils import CaptureQueriesContext

from django_sitemaps_plus import Route
from django_sitemaps_plus.tracking import collecting
from tests.support.testapp.models import (
    Author,
    Book,
    Country,
    Painting,
    Picture,
    Reprint,
    Tag,
    Town,
)

from .rows import BookSource, keys, make_books, noticed, recorded

pytestmark = pytest.mark.database


HIDDEN = Q(author__name="closed")


class Watching(BookSource):
    """Its pages depend on authors, as the project says."""

    limit = 5
    watch = {Author: "book"}


class Dated(BookSource):
    """Its pages depend on authors, as the declared path says."""

    limit = 5
    lastmod = "author__updated_at"


class Tagged(BookSource):
    limit = 5
    priority = Count("tags__name") * 0.0 + 0.5


class Counted(BookSource):
    """Its path ends at the relation, not at a column behind it."""

    limit = 5
    priority = Count("tags") * 0.0 + 0.5


class Tagless(BookSource):
    """The same by a lookup of the relation."""

    limit = 5
    priority = Count("pk", filter=Q(tags__isnull=True)) * 0.0 + 0.5


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
    priority = Count("book__tags__name") * 0.0 + 0.5


@pytest.fixture
def library():
    """Two authors with ten books each, the first one's on the first two pages."""
    one, two = [Author.objects.create(name=name) for name in ("one", "two")]
    return one, make_books(one, 10, "a"), two, make_books(two, 10, "b")


class TestAuthors:
    @pytest.mark.parametrize("source", [Watching, Dated])
    def test_a_save_is_one_change_and_a_deletion_an_audit(
        self, publish, library, source
    ):
        """Of one that is deleted nobody can tell any more which rows it concerned."""
        one = library[0]
        section = publish(source)
        one.save()
        assert [row[:2] for row in recorded()] == [("related", str(one.pk))]
        assert noticed(section) == [1, 2]
        one.delete()
        assert "audit" in [kind for kind, _, _ in recorded()]
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

    def test_an_author_without_rows_marks_nothing(self, publish, library):
        section = publish(Watching)
        Author.objects.create(name="three")
        assert noticed(section) == []
        assert recorded() == []

    @pytest.mark.parametrize(("most", "pages"), [(10, [1, 2]), (9, [1, 2, 3, 4])])
    @pytest.mark.parametrize("source", [Watching, Dated])
    def test_more_rows_than_are_located_mark_the_section(
        self, publish, library, monkeypatch, source, most, pages
    ):
        monkeypatch.setattr(collecting, "MAX_RELATED", most)
        section = publish(source)
        library[0].save()
        assert noticed(section) == pages
        assert recorded() == []

    def test_many_related_objects_together_are_too_many(
        self, publish, library, monkeypatch
    ):
        """What counts is the sum of a batch, and no query reads more rows."""
        monkeypatch.setattr(collecting, "MAX_RELATED", 15)
        section = publish(type("Both", (Dated, Watching), {}))
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
        declared = {"model": Town, "changefreq": "country__name"}
        section = publish(type("TownSource", (BookSource,), declared))
        country.save()
        assert noticed(section) == [1]

    @pytest.mark.parametrize("path", ["book", "book__slug"])
    def test_a_row_behind_a_path_that_moves_is_watched(self, publish, library, path):
        """The column that links it counts, for it is new on its author's page."""
        _, books, two, _ = library
        priority = Count(path) * 0.0 + 0.5
        declared = {"limit": 1, "priority": priority}
        section = publish(type("AuthorSource", (ShelfSource,), declared))
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
    shown = Book.objects.exclude(HIDDEN)
    declared = {"watch": {Author: watched}, "get_queryset": lambda self: shown.all()}
    section = publish(type("ShownSource", (Watching,), declared))
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
    declared = {"model": Reprint, "images": images, "limit": 1}
    section = publish(type("ReprintSource", (BookSource,), declared))
    pictures[1].save(update_fields=["name"])
    assert noticed(section) == [2]


class TestManyToMany:
    """Books with tags: five a page, so book 0 is on page 1 and book 7 on page 2."""

    @pytest.fixture(params=[Tagged, Counted, Tagless, Filtered])
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
        section = publish(type("Lost", (Filtered,), {"watch": {Tag: path}}))
        Tag.objects.create(name="t")
        assert noticed(section) == [1, 2, 3, 4]

    @pytest.mark.parametrize("watch", [{"testapp.Tag": "book"}, {Tag: 5}, [Tag], None])
    def test_what_cannot_be_watched_keeps_no_project_from_starting(
        self, publish, library, watch
    ):
        """A system check says what is wrong; the rest is watched."""
        section = publish(type("Wrong", (Dated,), {"watch": watch}))
        library[0].save()
        assert noticed(section) == [1, 2]

    def test_a_source_from_the_far_side(self, publish, library):
        priority = Count("book__slug") * 0.0 + 0.5
        declared = {"model": Tag, "priority": priority}
        tag = Tag.objects.create(name="t")
        section = publish(type("TagSource", (ShelfSource,), declared))
        library[1][0].tags.add(tag)
        assert noticed(section) == [1]

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
