"""Excluding a row and listing it again: its page follows, and engines are notified."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import DatabaseError, transaction

from django_sitemaps_plus.diagnostics import requests
from django_sitemaps_plus.diagnostics.requests import exclude, lift
from django_sitemaps_plus.models import Change, Exclusion, Page, Section
from django_sitemaps_plus.notifications.dispatch import notify_engines
from django_sitemaps_plus.testing import RecordingEngine
from tests.support.builds import build_and_relay, build_fully
from tests.support.rows import RowsElsewhere, make_tables
from tests.support.shop import limited, make_products, product_urls
from tests.support.testapp.models import Cafe

pytestmark = pytest.mark.database

BACKEND = "django_sitemaps_plus.testing.RecordingEngine"


@pytest.fixture
def told(configure: Any) -> Any:
    """Return what gives the URLs that an engine gets by the next build."""
    configure(
        NOTIFY=True,
        NOTIFY_DELAY_SECONDS=0,
        NOTIFY_INTERVAL_SECONDS=0,
        ENGINES={"one": {"BACKEND": BACKEND}},
    )
    RecordingEngine.clear()

    def told() -> list[str]:
        build_and_relay()
        notify_engines()
        found = RecordingEngine.told()
        RecordingEngine.clear()
        return found

    yield told
    RecordingEngine.clear()


def test_only_its_page_is_built_and_engines_hear_of_the_removal(sections, told, crawl):
    """And again once it is listed."""
    products = make_products(6)
    sections.register("products", limited(2))
    build_fully()
    told()
    objects = dict(Page.objects.values_list("number", "object"))
    url = product_urls([2])
    assert exclude(products[2], by="ada", note="sold out")
    assert told() == url
    changed = {
        number
        for number, stored in Page.objects.values_list("number", "object")
        if objects[number] != stored
    }
    assert changed == {0, 2}  # the index, too
    assert crawl()["/sitemap-products-2.xml"] == product_urls([3])
    assert (Page.objects.get(number=2).skipped, Section.objects.count()) == (0, 2)
    assert lift(Exclusion.objects.of_row(products[2]), products[2])
    assert told() == url
    assert crawl()["/sitemap-products-2.xml"] == product_urls([2, 3])
    assert not Exclusion.objects.exists()


def test_what_is_done_already_changes_nothing(products):
    assert exclude(products[0], by="ada", note="first")
    Change.objects.all().delete()
    assert not exclude(products[0], by="bob", note="second")
    assert Exclusion.objects.get().note == "first"
    assert lift(Exclusion.objects.all())
    assert Change.objects.count() == 1
    assert not lift(Exclusion.objects.all())


def test_a_live_section_follows_at_once(sections, crawl):
    [first, *_] = make_products(3)
    sections.register("products", limited(5))
    exclude(first, by="ada")
    assert crawl() == {"/sitemap-products-1.xml": product_urls([1, 2])}


def test_the_guard_holds_a_section_that_would_run_empty(publish, crawl):
    """As it does where rows are lost: a person lets it pass."""
    products = make_products(3)
    section = publish(limited(5))
    for product in products:
        exclude(product, by="ada")
    build_and_relay()
    section.refresh_from_db()
    assert section.hold_reason.startswith("it would fall from 3 entries to 0")
    assert list(crawl().values()) == [product_urls([0, 1, 2])]


def test_a_row_is_marked_in_the_sections_of_its_child(sections):
    """Whichever of the two is lifted, the exclusion is that of the first ancestor."""
    cafe = Cafe.objects.create(slug="cafe")
    source = limited(5, model=Cafe, lastmod=None)
    sections.register("cafes", source)
    build_fully()
    Change.objects.all().delete()
    exclude(cafe, by="ada")
    assert Exclusion.objects.get().model == "testapp.place"
    assert Change.objects.get().section == "cafes"
    lift(Exclusion.objects.all())
    assert Change.objects.count() == 2


def test_one_whose_pages_cannot_be_marked_is_not_excluded(products, monkeypatch):
    def fail(rows: Any) -> int:
        raise DatabaseError("full")

    monkeypatch.setattr(requests, "notify_changed", fail)
    with pytest.raises(DatabaseError):
        exclude(products[0], by="ada")
    assert not Exclusion.objects.exists()


def test_one_of_a_model_that_has_gone_can_be_lifted():
    Exclusion.objects.create(model="gone.thing", key="1")
    Exclusion.objects.create(model="nonsense", key="1")
    assert lift(Exclusion.objects.all())


def test_rows_on_another_database_are_marked_after_the_exclusion(
    sections, settings, other_database, crawl
):
    """Their changes lie beside them; a build must not take one too early."""
    products = make_products(3)
    make_tables(other_database)
    settings.DATABASE_ROUTERS = [RowsElsewhere(other_database)]
    sections.register("products", limited(5))
    build_fully()
    with transaction.atomic(using=other_database):
        exclude(products[1], by="ada")
        assert not Change.objects.using("default").exists()
    assert Exclusion.objects.using(other_database).count() == 1
    assert Change.objects.using("default").count() == 1
    build_and_relay()
    assert list(crawl().values()) == [product_urls([0, 2])]
