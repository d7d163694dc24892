"""Many-to-many relations with a model of their own: its rows are watched as well."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from django.db.models import Count
from django.db.models.deletion import Collector

from django_sitemaps_plus import Route
from django_sitemaps_plus.registry import registry
from django_sitemaps_plus.tracking import collecting, relations
from tests.support.testapp.models import Actor, Film, Role

from .rows import BookSource, dirty, keys, recorded

pytestmark = [pytest.mark.database, pytest.mark.django_db]


class FilmSource(BookSource):
    """Its pages depend on who plays in a film; two films a page."""

    model = Film
    limit = 2
    priority = Count("cast__name") * 0.0 + 0.5


class CastSource(BookSource):
    """Its pages depend on who plays in a film, as the project says."""

    model = Film
    limit = 2
    watch = {Actor: "film"}


class ActorSource(BookSource):
    """Its pages depend on the films of an actor, seen from the far side."""

    model = Actor
    limit = 2
    location = Route("book-detail", slug="pk")
    priority = Count("film__slug") * 0.0 + 0.5


class PartnerSource(ActorSource):
    """Its pages depend on everybody who plays in the films of an actor."""

    priority = Count("film__cast__name") * 0.0 + 0.5


class RoleSource(BookSource):
    """Lists the rows between, which is what watches them too."""

    model = Role
    location = Route("book-detail", slug="pk")


@pytest.fixture
def films():
    """Six films, of which the last has the actor who plays in it."""
    Film.objects.bulk_create([Film(slug=f"film-{n}") for n in range(6)])
    return list(Film.objects.order_by("pk"))


@pytest.fixture
def role(films):
    actor = Actor.objects.create(name="one")
    return Role.objects.bulk_create([Role(film=films[5], actor=actor)])[0]


def noticed(section):
    """Return the pages that the recorded changes alone make dirty."""
    collecting.take_changes(section, registry.get(section.name))
    return dirty(section)


def played(role, film):
    """Give the actor of a role another one, by the model between."""
    return Role.objects.create(film=film, actor=role.actor)


def moved(role, film):
    role.film = film
    role.save()


def moved_alone(role, film):
    role.film = film
    role.save(update_fields=["film_id"])


class TestNearSide:
    source = FilmSource

    @pytest.mark.parametrize("act", [played, moved, moved_alone])
    def test_a_row_that_is_saved_marks_the_page_it_leads_to(
        self, publish, films, role, act
    ):
        """Whether it is new or had another film before."""
        section = publish(self.source)
        act(role, films[2])
        assert recorded() == keys(films[2])
        assert noticed(section) == [2]

    def test_any_column_of_it_counts(self, publish, role):
        """As of whatever is watched."""
        publish(self.source)
        role.save(update_fields=["character"])
        assert recorded() == keys(role.film)

    @pytest.mark.parametrize(
        "act",
        [
            lambda role: role.delete(),
            lambda role: Role.objects.filter(pk=role.pk).delete(),
            lambda role: role.film.cast.remove(role.actor),
            lambda role: role.film.cast.clear(),
            lambda role: role.actor.film_set.remove(role.film),
        ],
        ids=["row", "queryset", "remove", "clear", "far remove"],
    )
    def test_a_row_that_is_deleted_marks_the_page_it_led_to(self, publish, role, act):
        """And no other: it still says which film it was of."""
        section = publish(self.source)
        act(role)
        assert set(recorded()) == set(keys(role.film))
        assert noticed(section) == [3]

    def test_add_is_watched_as_before(self, publish, films, role):
        """It sends no signal for the row between."""
        publish(self.source)
        films[0].cast.add(role.actor)
        assert recorded() == keys(films[0])

    def test_track_deletes_off_keeps_the_fast_delete(self, publish, films, role):
        """Saves are recorded all the same."""
        publish(type("Quiet", (self.source,), {"track_deletes": False}))
        assert Collector(using="default").can_fast_delete(Role.objects.all())
        played(role, films[0])
        Role.objects.all().delete()
        assert recorded() == keys(films[0])


class TestWatched(TestNearSide):
    """The same where a filter alone depends on who plays in a film."""

    source = CastSource


class TestOtherKeys:
    """Pages that are ranges of slugs, one a page, which a row between does not hold."""

    @pytest.fixture
    def section(self, publish, role):
        return publish(type("BySlug", (FilmSource,), {"key": "slug"}))

    def test_a_save_is_one_change_that_the_reader_expands(self, section, films, role):
        """No film is read in the middle of a save."""
        made = played(role, films[2])
        assert recorded() == [("related", str(made.pk), "testapp.Role:film")]
        assert noticed(section) == [3]

    def test_a_deletion_marks_the_section(self, section, role):
        """Which slug it led to nobody can ask any more."""
        role.delete()
        assert recorded() == [("audit", "", "")]
        assert noticed(section) == [1, 2, 3, 4, 5, 6]


class TestOtherSides:
    def test_a_source_from_the_far_side(self, publish, films, role):
        """It watches the end that its own rows are at."""
        publish(ActorSource)
        played(role, films[0])
        role.delete()
        assert recorded() == keys(role.actor) * 2

    def test_a_relation_further_away_is_one_change_by_the_path_before_it(
        self, publish, films, role
    ):
        """Whoever else plays in the film is found by the reader."""
        others = [Actor.objects.create(name=f"{n}") for n in range(4)]
        Role.objects.bulk_create([Role(film=films[0], actor=others[3])])
        section = publish(PartnerSource)
        made = Role.objects.create(film=films[0], actor=others[0])
        assert sorted(recorded()) == [
            ("key", str(others[0].pk), ""),
            ("related", str(films[0].pk), "film"),
        ]
        assert noticed(section) == [1, 3]
        made.delete()
        assert noticed(section) == [1, 3]

    def test_a_model_between_that_is_listed_itself(self, publish, films, role):
        """Both sections watch it."""
        publish(FilmSource)
        publish(RoleSource, "roles")
        made = played(role, films[0])
        assert sorted(recorded()) == sorted(keys(films[0], made))


def test_a_field_that_only_acts_like_one_is_left_to_its_own_signals():
    """Fields of other apps may keep their relations in any table."""
    field = SimpleNamespace(many_to_many=True, field=None)
    assert relations.Crossing(Film, "", "", field).link is None
