"""The columns of a multi-table child are saved under its parents' names as well."""

from __future__ import annotations

import json

import pytest
from django.contrib.sitemaps import GenericSitemap
from django.core.management import call_command
from django.db.models import Count

from django_sitemaps_plus import ModelSource, Route
from django_sitemaps_plus.building.build import build
from django_sitemaps_plus.registry import registry
from django_sitemaps_plus.tracking import collecting
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

from .rows import BookSource, dirty, make_books, recorded

pytestmark = [pytest.mark.database, pytest.mark.django_db]


#: A tag is added to a venue that is a theatre.
under_each_name = pytest.mark.parametrize(
    "act",
    [
        lambda venue, tag: venue.tags.add(tag),
        lambda venue, tag: venue.theatre.tags.add(tag),
        lambda venue, tag: tag.venue_set.add(venue),
    ],
    ids=["parent", "child", "far side"],
)


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


class ShowSource(CafeSource):
    """Shows that say where they are."""

    model = Show
    changefreq = "theatre__slug"


class WatchingSource(CafeSource):
    """The same where the project says so."""

    model = Show
    watch = {Theatre: "show"}


def noticed(section):
    """Return the pages that the recorded changes alone make dirty."""
    collecting.take_changes(section, registry.get(section.name))
    return dirty(section)


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


@pytest.mark.parametrize("model", [Place, PlaceProxy])
def test_a_row_that_is_saved_under_its_parents_name_marks_its_page(
    publish, cafes, client, model
):
    """Published is what the row says by now."""
    section = publish(CafeSource)
    place = model.objects.get(pk=cafes[1].pk)
    place.slug = "moved"
    place.save()
    assert noticed(section) == [2]
    build()
    assert b"/moved/" in client.get("/sitemap-products-2.xml").content


@pytest.mark.parametrize("key", ["pk", "slug"])
def test_a_child_is_found_by_its_link_whatever_its_key_is(publish, key):
    """A change holds the key of the parent."""
    theatres = make_theatres(Theatre)
    source = type("Keyed", (TheatreSource,), {"key": key})
    section = publish(source)
    Venue.objects.get(slug="theatre-1").save()
    assert recorded() == [("related", str(theatres[1].venue_id), "venue")]
    assert noticed(section) == [2]


@pytest.mark.parametrize(("model", "key"), [(Venue, "venue_id"), (Theatre, "pk")])
def test_parents_further_up_are_watched(publish, model, key):
    """By every step that leads to them."""
    operas = make_theatres(Opera)
    section = publish(OperaSource)
    model.objects.get(pk=getattr(operas[2], key)).save()
    assert noticed(section) == [3]


def test_another_child_of_the_same_parent_is_watched(publish):
    """What is a theatre and a museum has one slug."""
    theatres = make_theatres(Theatre)
    section = publish(TheatreSource)
    museum = Museum(venue_ptr_id=theatres[1].venue_id, slug="moved")
    museum.save()
    assert noticed(section) == [2]


def test_another_child_of_a_fixture_is_watched(publish, tmp_path):
    """Raw, it has only the link to its parent."""
    theatres = make_theatres(Theatre)
    section = publish(TheatreSource)
    path = tmp_path / "rows.json"
    row = {"model": "testapp.museum", "pk": theatres[1].venue_id, "fields": {}}
    path.write_text(json.dumps([row]))
    call_command("loaddata", str(path), verbosity=0)
    assert noticed(section) == [2]


def test_a_parent_that_is_no_child_marks_nothing(publish, cafes):
    """Only the reader knows, and it has no page of its own."""
    section = publish(CafeSource)
    Place.objects.get(slug="no-cafe").save()
    Place.objects.create(slug="new")
    assert noticed(section) == []
    assert recorded() == []


def test_a_column_that_no_page_shows_writes_nothing(publish, cafes):
    """As of a save under the child's name."""
    section = publish(CafeSource)
    place = Place.objects.get(pk=cafes[1].pk)
    place.save(update_fields=["visits"])
    assert recorded() == []
    place.save(update_fields=["slug"])
    assert noticed(section) == [2]


def test_a_save_of_the_child_is_one_change(publish, cafes):
    """It is not told of its parent's row too."""
    publish(CafeSource)
    cafes[1].save()
    assert recorded() == [("key", str(cafes[1].pk), "")]


@pytest.mark.parametrize("model", [Cafe, Place])
def test_a_deletion_marks_its_page_alone(publish, cafes, model):
    """The child goes with the parent, and says so itself."""
    section = publish(CafeSource)
    model.objects.get(pk=cafes[1].pk).delete()
    assert noticed(section) == [2]


def test_a_contrib_class_watches_the_parent(publish, cafes):
    """Its rows are tracked like those of any source."""
    sitemap = GenericSitemap({"queryset": Cafe.objects.all()})
    sitemap.location = lambda cafe: f"/{cafe.slug}/"
    sitemap.limit = 1
    section = publish(sitemap)
    Place.objects.get(pk=cafes[1].pk).save()
    assert noticed(section) == [2]


@pytest.mark.parametrize("source", [ShowSource, WatchingSource])
def test_the_parent_of_what_rows_refer_to_is_watched(publish, source):
    """A page that shows where a show is follows its venue."""
    theatres = make_theatres(Theatre)
    for n, theatre in enumerate(theatres):
        Show.objects.create(theatre=theatre, slug=f"show-{n}")
    section = publish(source)
    Venue.objects.get(slug="theatre-1").save()
    assert noticed(section) == [2]


class TaggedSource(TheatreSource):
    """Theatres with the tags that they have as venues."""

    priority = Count("tags__name") * 0.0 + 0.5


@under_each_name
def test_a_relation_of_the_parent_is_watched(publish, act):
    """Under whatever name it is set."""
    make_theatres(Theatre)
    tag = Tag.objects.create(name="t")
    section = publish(TaggedSource)
    act(Venue.objects.get(slug="theatre-1"), tag)
    assert noticed(section) == [2]


def test_a_relation_of_the_parent_that_is_taken_away_is_watched(publish):
    """From either side, and without a build of the whole section."""
    make_theatres(Theatre)
    venue, tag = Venue.objects.get(slug="theatre-1"), Tag.objects.create(name="t")
    venue.tags.add(tag)
    section = publish(TaggedSource)
    tag.venue_set.remove(venue)
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


@under_each_name
def test_a_relation_of_the_parent_on_a_path_of_watch_is_watched(publish, act):
    """Its table holds keys of the parent, whatever key the child has."""
    make_theatres(Theatre)
    books = make_books(Author.objects.create(name="one"), 3)
    tag = Tag.objects.create(name="t")
    books[1].tags.add(tag)
    declared = {"limit": 1, "watch": {Theatre: "tags__book"}}
    section = publish(type("Played", (BookSource,), declared))
    act(Venue.objects.get(slug="theatre-1"), tag)
    assert noticed(section) == [2]


def test_a_parent_that_does_not_know_its_child_is_left_alone(publish):
    """No path leads to the child, and to mark all pages would cost too much."""
    make_books(Author.objects.create(name="one"), 3)
    declared = {"limit": 1, "watch": {Annex: "tags__book"}}
    publish(type("Played", (BookSource,), declared))
    Venue.objects.create(slug="venue")
    assert recorded() == []
