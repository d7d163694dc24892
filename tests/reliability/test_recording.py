"""T9 in short: what goes wrong while a change is recorded never hurts the save."""

from __future__ import annotations

import pytest
from django.db import transaction

from django_sitemaps_plus.building.build import build as refresh
from django_sitemaps_plus.models import Change
from tests.support.testapp.models import Product

from .tools.published import published_urls
from .tools.shop import STEP, PlainSource, add, add_quietly, rename, table

pytestmark = [pytest.mark.database, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def _no_table(sections, monkeypatch) -> None:
    """Have a section whose changes cannot be recorded, since their table is missing."""
    add_quietly(range(0, 5 * STEP, STEP))
    sections.register("products", PlainSource)
    refresh()
    monkeypatch.setattr(Change._meta, "db_table", "not_migrated_yet")


@pytest.mark.usefixtures("_no_table")
def test_a_transaction_goes_on_after_a_change_was_not_recorded():
    """Later statements of the user's transaction work, and all of it commits."""
    with transaction.atomic():
        add([10**6])
        rename([0], "later")
        assert Product.objects.count() == 6
    slugs = set(Product.objects.values_list("slug", flat=True))
    assert {"p-1000000", "later-0"} <= slugs


@pytest.mark.usefixtures("_no_table")
def test_a_full_refresh_finds_what_was_not_recorded(monkeypatch):
    """The pages list the table once all of them are rendered."""
    rename([0], "later")
    monkeypatch.undo()
    refresh(full=True)
    assert published_urls() == table()
