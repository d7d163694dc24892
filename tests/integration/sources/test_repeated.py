"""Rows that a join repeats are listed once, counted and named."""

from __future__ import annotations

from typing import Any

import pytest
from django.conf.urls.i18n import i18n_patterns
from django.contrib.sitemaps import Sitemap
from django.db.models import F, Value
from django.db.models.functions import NullIf
from django.urls import path

from django_sitemaps_plus import ModelSource, Route
from django_sitemaps_plus.registry import registry
from django_sitemaps_plus.sources import Tally, reader_of, surroundings
from tests.support.documents import locs
from tests.support.rendered import SITE, plain, render
from tests.support.testapp.models import Author, Book, Tag

pytestmark = pytest.mark.database

URLS = [f"https://example.com/books/book-{number}/" for number in range(3)]
TAGGED = {"tags__name__gte": "tag"}


@pytest.fixture(autouse=True)
def books() -> None:
    """Add three books, each with three tags."""
    author = Author.objects.create(name="A")
    tags = [Tag.objects.create(name=f"tag {number}") for number in range(3)]
    for number in range(3):
        book = Book.objects.create(author=author, slug=f"book-{number}")
        book.tags.set(tags)


class Tuples(ModelSource):
    model = Book
    location = Route("book-detail", slug="slug")

    def get_queryset(self) -> Any:
        return super().get_queryset().filter(**TAGGED)


class Instances(Tuples):
    def location(self, book: Book) -> str:  # type: ignore[override]
        return f"/books/{book.slug}/"


class Contrib(Sitemap):
    location = Instances.location

    def items(self) -> Any:
        return Book.objects.filter(**TAGGED)


class InLanguages(Contrib):
    i18n = True
    languages = ["en", "de"]

    def _location(self, item: Any, force_lang_code: str | None = None) -> str:
        return f"/{item[1]}/{item[0].slug}/"


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


def test_an_item_is_listed_once_in_each_language():
    page = render(InLanguages)
    assert len(locs(plain(page))) == len(set(locs(plain(page)))) == 6
    assert page.tally.dropped == 12


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


def test_repetitions_of_one_batch_in_the_next_are_found(monkeypatch):
    monkeypatch.setattr("django_sitemaps_plus.sources.reading.CHUNK_ROWS", 2)
    page = render(Tuples)
    assert locs(plain(page)) == URLS
    assert page.tally.dropped == 6
    assert len(page.tally.problems) == 1  # one tells what to write


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


def test_other_urls_of_a_row_stay():
    """A location may cross the relation on purpose."""
    location = Route("product-detail", slug=F("tags__pk"))
    page = render(type("OfTags", (Tuples,), {"location": location}))
    assert len(set(locs(plain(page)))) == 3
    assert (page.tally.entries, page.tally.dropped) == (3, 6)


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
