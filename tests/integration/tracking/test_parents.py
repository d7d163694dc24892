"""A row is saved under the names of proxies, of its children and of its parents."""

from __future__ import annotations

import pytest
from django.contrib.sitemaps import GenericSitemap
from django.db.models import Count

from django_sitemaps_plus import ModelSource, Route
from django_sitemaps_plus.building.build import build
from tests.support.testapp.models import (
    Annex,
    Author,
    Cafe,
    Meal,
    Museum,
    Opera,
    Place,
    PlaceProxy,
    Show,
    Tag,
    Theatre,
    Venue,
)

from .rows import BookSource, PlaceSource, keys, load, make_books, noticed, recorded

pytestmark = pytest.mark.database


class CafeSource(ModelSource):
    """Cafes by a column of the places that they are; one a page."""

    model = Cafe
    limit = 1
    location = Route("product-detail", slug="slug")


class TheatreSource(CafeSource):
    """Their keys are not those of their venues."""

    model = Theatre


class OperaSource(CafeSource):
    """Children of children."""

    model = Opera


@pytest.fixture
def cafes():
    """Three cafes; the key of each is that of its place."""
    Place.objects.create(slug="no-cafe")
    return [Cafe.objects.create(slug=f"cafe-{n}") for n in range(3)]


def make_theatres(model):
    """Add three whose venues have other keys than they have."""
    for n in range(5):
        Venue.objects.create(slug=f"venue-{n}")
    return [model.objects.create(slug=f"theatre-{n}") for n in range(3)]


@pytest.fixture
def theatres():
    return make_theatres(Theatre)


class ProxySource(PlaceSource):
    """The same rows under another name."""

    model = PlaceProxy


@pytest.mark.parametrize(
    ("source", "model"), [(PlaceSource, PlaceProxy), (ProxySource, Place)]
)
def test_a_proxy_and_the_model_behind_it_are_the_same(publish, source, model):
    place = Place.objects.create(slug="one")
    publish(source)
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


def test_rows_of_a_fixture_are_recorded(publish, tmp_path):
    """A raw child has only the link to its parent, which has a row of its own."""
    publish(PlaceSource)
    parent = {"model": "testapp.place", "pk": 7, "fields": {"slug": "one"}}
    load(tmp_path, parent, {"model": "testapp.cafe", "pk": 7, "fields": {"seats": 4}})
    assert recorded() == [("key", "7", "")]


@pytest.mark.parametrize("model", [Place, PlaceProxy])
def test_a_row_that_is_saved_under_its_parents_name_is_published(
    publish, cafes, client, model
):
    section = publish(CafeSource)
    place = model.objects.get(pk=cafes[1].pk)
    place.slug = "moved"
    place.save()
    assert noticed(section) == [2]
    build()
    assert b"/moved/" in client.get("/sitemap-products-2.xml").content


@pytest.mark.parametrize("key", ["pk", "slug"])
def test_a_child_is_found_by_its_link_whatever_its_key_is(publish, theatres, key):
    section = publish(type("Keyed", (TheatreSource,), {"key": key}))
    Venue.objects.get(slug="theatre-1").save()
    assert noticed(section) == [2]


@pytest.mark.parametrize(("model", "key"), [(Venue, "venue_id"), (Theatre, "pk")])
def test_parents_further_up_are_watched(publish, model, key):
    operas = make_theatres(Opera)
    section = publish(OperaSource)
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


@pytest.mark.parametrize("model", [Cafe, Place])
def test_a_deletion_marks_its_page_alone(publish, cafes, model):
    """The child goes with the parent, and says so itself."""
    section = publish(CafeSource)
    model.objects.get(pk=cafes[1].pk).delete()
    assert noticed(section) == [2]


def test_a_contrib_class_watches_the_parent(publish, cafes):
    sitemap = GenericSitemap({"queryset": Cafe.objects.all()})
    sitemap.location = lambda cafe: f"/{cafe.slug}/"
    sitemap.limit = 1
    section = publish(sitemap)
    Place.objects.get(pk=cafes[1].pk).save()
    assert noticed(section) == [2]


@pytest.mark.parametrize(
    "declared", [{"changefreq": "theatre__slug"}, {"watch": {Theatre: "show"}}]
)
def test_the_parent_of_what_rows_refer_to_is_watched(publish, theatres, declared):
    for n, theatre in enumerate(theatres):
        Show.objects.create(theatre=theatre, slug=f"show-{n}")
    section = publish(type("S", (CafeSource,), {"model": Show, **declared}))
    Venue.objects.get(slug="theatre-1").save()
    assert noticed(section) == [2]


def of_theatres():
    return type("S", (TheatreSource,), {"priority": Count("tags__name") * 0.0 + 0.5})


def of_books():
    books = make_books(Author.objects.create(name="one"), 3)
    books[1].tags.add(Tag.objects.get())
    return type("S", (BookSource,), {"limit": 1, "watch": {Theatre: "tags__book"}})


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
    section = publish(type("Fed", (CafeSource,), {"watch": {Meal: "place"}}))
    Meal.objects.create(place_id=cafes[1].pk)
    assert noticed(section) == [2]


def test_a_path_of_watch_may_end_at_what_a_key_refers_to(publish):
    """Whatever the link is called, and though nothing leads back by it."""
    annexes = [Annex.objects.create(slug=f"annex-{n}") for n in range(3)]
    source = {"model": Annex, "watch": {Museum: "venue_ptr"}}
    section = publish(type("AnnexSource", (CafeSource,), source))
    Museum.objects.create(venue_ptr_id=annexes[1].pk, slug="annex-1")
    assert noticed(section) == [2]
