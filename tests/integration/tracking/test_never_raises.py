"""Whatever is wrong with us, the user's save and its transaction go on."""

from __future__ import annotations

from contextlib import nullcontext

import pytest
from django.db import DatabaseError, connection, transaction
from django.db.models import Count

from django_sitemaps_plus.models import Change, Page, Section
from django_sitemaps_plus.outages import log_once
from django_sitemaps_plus.tracking import known, watching
from tests.support.shop import ProductSource, limited
from tests.support.testapp.models import Author, Label, Product, Tag

from .rows import BookSource, keys, make_books, make_product, recorded

pytestmark = pytest.mark.database


def no_changes(monkeypatch, publish):
    """A database that our table is missing on."""
    publish(ProductSource)
    monkeypatch.setattr(Change._meta, "db_table", "no_such_table")


def no_pages(monkeypatch, publish):
    """A database on which nothing of ours was ever migrated."""
    publish(ProductSource)
    known.forget()
    for model in (Page, Change):
        monkeypatch.setattr(model._meta, "db_table", "no_such_table")


def bad_settings(monkeypatch, publish):
    """The setting cannot be read."""
    publish(ProductSource)

    def fail():
        raise TypeError("broken")

    monkeypatch.setattr(known, "is_tracking", fail)


def no_sections(monkeypatch, publish):
    """Neither the source's own query nor ours can be run."""
    publish(ProductSource)
    known.forget()
    for model in (Section, Change):
        monkeypatch.setattr(model._meta, "db_table", "no_such_table")

    def fail(source):
        with connection.cursor() as cursor:
            cursor.execute("SELECT no_such_column")

    monkeypatch.setattr(watching, "columns", fail)


FAULTS = [no_changes, no_pages, no_sections, bad_settings]


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.__name__)
def test_the_transaction_of_a_save_goes_on(
    fault, publish, sections, monkeypatch, messages
):
    """The row is saved, and more can be done in the same transaction."""
    product = make_product("one")
    fault(monkeypatch, publish)
    with transaction.atomic():
        product.name = "two"
        product.save(update_fields=["name", "slug"])
        Product.objects.create(name="three", slug="three")
        assert Product.objects.count() == 2
    assert sorted(Product.objects.values_list("name", flat=True)) == ["three", "two"]
    assert "was not recorded" in messages("change_lost")[0]


def test_a_source_that_fails_is_not_watched(sections, messages):
    """It is said once, and not again with each save."""
    log_once.cache_clear()  # another test may have met it
    sections.register("products", limited(10, key="nowhere"))
    known.add("products")
    make_product("one")
    assert not recorded()
    assert "'products' are not recorded" in messages("source_broken")[0]
    assert not messages("change_lost")


def test_a_relation_is_taken_away_all_the_same(publish, monkeypatch, messages):
    """From its far side, where the change names the others."""
    [book] = make_books(Author.objects.create(name="one"), 1)
    tag = Tag.objects.create(name="t")
    book.tags.add(tag)
    declared = {"priority": Count("tags__name") * 0.0 + 0.5}
    publish(type("TaggedSource", (BookSource,), declared))
    monkeypatch.setattr(Change._meta, "db_table", "no_such_table")
    with transaction.atomic():
        tag.book_set.remove(book)
        assert not book.tags.exists()
    assert "was not recorded" in messages("change_lost")[0]


@pytest.mark.parametrize(
    "in_transaction",
    [
        pytest.param(True, marks=pytest.mark.django_db, id="in a transaction"),
        pytest.param(
            False, marks=pytest.mark.django_db(transaction=True), id="in autocommit"
        ),
    ],
)
def test_a_queryset_whose_query_fails_counts_every_column(
    publish, messages, in_transaction
):
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
    with transaction.atomic() if in_transaction else nullcontext():
        for name in ("two", "three"):
            product.name = name
            product.save(update_fields=["name"])
        assert Product.objects.get().name == "three"
    assert asked == ["published", "again"]
    assert recorded() == keys(product) * 2
    assert messages("change_lost") == []


def test_a_transaction_that_is_broken_already_is_left_alone(publish, messages):
    """The user's own error is what the user sees."""
    product = make_product("one")
    publish(ProductSource)
    with pytest.raises(DatabaseError, match="no_such_table"):  # noqa: SIM117
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("SELECT 1 FROM no_such_table")
    product.save()
    assert len(recorded()) == 1
