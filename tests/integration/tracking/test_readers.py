"""A change that neither a build nor an engine reads costs a save no query."""

from __future__ import annotations

import time

import pytest
from django.contrib.sitemaps import Sitemap
from django.db import connection
from django.db.models import Count
from django.test.utils import CaptureQueriesContext, _TestState

from django_sitemaps_plus.building.build import build
from django_sitemaps_plus.models import Change, Section
from django_sitemaps_plus.testing import tracking
from django_sitemaps_plus.tracking import known
from tests.support.shop import ProductSource, limited, make_products
from tests.support.testapp.models import Author, Product, Tag

from .rows import BookSource, keys, make_books, recorded

pytestmark = pytest.mark.database


@pytest.fixture(autouse=True)
def two_sections(sections) -> None:
    """Have two sections that list products."""
    sections.register("products", ProductSource)
    sections.register("more", limited(5))


def create(name: str) -> list[str]:
    """Create a product; return the statements that this took."""
    with CaptureQueriesContext(connection) as queries:
        Product.objects.create(name=name, slug=name)
    return [query["sql"] for query in queries]


class TestInTestRuns:
    """TRACK is not set, so nothing is recorded while tests run."""

    @pytest.fixture(autouse=True)
    def automatic(self, configure) -> None:
        configure(TRACK=None)

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


class TestUnread:
    """Nothing is built and no engine is notified."""

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
        with CaptureQueriesContext(connection) as queries:
            Product.objects.all().delete()
        said = [query["sql"] for query in queries]
        assert len([sql for sql in said if "sitemaps_plus_" in sql]) == 1

    def test_relations_ask_once(self, sections):
        """Also of the far side, for several objects."""
        [book] = make_books(Author.objects.create(name="one"), 1)
        declared = {"priority": Count("tags__name") * 0.0 + 0.5}
        sections.register("books", type("TaggedSource", (BookSource,), declared))
        tags = [Tag.objects.create(name=name) for name in "ab"]
        book.save()
        with CaptureQueriesContext(connection) as queries:
            book.tags.add(*tags)
            tags[0].book_set.clear()
        said = [query["sql"] for query in queries]
        assert not [sql for sql in said if "sitemaps_plus_" in sql]
        build(["books"])
        tags[1].book_set.remove(book)
        assert ("related", str(book.pk)) in [(kind, low) for kind, low, _ in recorded()]
