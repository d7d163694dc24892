"""Many-to-many relations with a model of their own: its rows are watched as well."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from django.db.models import Count
from django.db.models.deletion import Collector

from django_sitemaps_plus import Route
from django_sitemaps_plus.tracking import relations
from tests.support.testapp.models import Actor, Film, Role

from .rows import BookSource, keys, noticed, recorded

pytestmark = pytest.mark.database


class FilmSource(BookSource):
    """Its pages depend on who plays in a film; two films a page."""

    model = Film
    limit = 2
    priority = Count("cast__name") * 0.0 + 0.5


class CastSource(BookSource):
    """The same, as the project says."""

    model = Film
    limit = 2
    watch = {Actor: "film"}


class BySlug(FilmSource):
    """Pages that are ranges of slugs, which a row between does not hold."""

    key, limit = "slug", 3  # of which a first plan leaves one free


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


def moved(role, film):
    role.film = film
    role.save()


def moved_alone(role, film):
    role.film = film
    role.save(update_fields=["film_id"])


@pytest.mark.parametrize("source", [FilmSource, CastSource, BySlug])
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
        section = publish(type("Quiet", (source,), {"track_deletes": False}))
        assert Collector(using="default").can_fast_delete(Role.objects.all())
        Role.objects.create(film=films[0], actor=role.actor)
        Role.objects.all().delete()
        assert noticed(section) == [1]


def test_a_source_from_the_far_side(publish, films, role):
    others = [Actor.objects.create(name=f"{n}") for n in range(2)]
    section = publish(ActorSource)
    Role.objects.create(film=films[0], actor=others[1]).delete()
    assert noticed(section) == [2]


def test_a_relation_further_away_is_found_by_the_path_before_it(publish, films, role):
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
    publish(RoleSource, "roles")
    made = Role.objects.create(film=films[0], actor=role.actor)
    assert keys(made)[0] in recorded()
    assert noticed(section) == [1]


def test_a_field_that_only_acts_like_one_is_left_to_its_own_signals():
    """Fields of other apps may keep their relations in any table."""
    field = SimpleNamespace(through=Role)
    crossing = relations._crossing(field, Film, relations.Way(Film))
    assert (crossing.link, crossing.field.name) == (None, "id")
