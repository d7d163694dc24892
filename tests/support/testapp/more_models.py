"""Models that are inherited, scheduled, dated by day and joined by a code."""

from __future__ import annotations

from django.db import models


class Place(models.Model):
    """The parent of a child with a table of its own."""

    slug = models.SlugField(max_length=80)
    visits = models.IntegerField(default=0)
    updated_at = models.DateTimeField(null=True)  # on purpose without an index
    seen_on = models.DateField(null=True, db_index=True)

    def __str__(self) -> str:
        return self.slug


class PlaceProxy(Place):
    """The same rows under another name."""

    class Meta:
        proxy = True


class Cafe(Place):
    """A child by multi-table inheritance."""

    seats = models.IntegerField(default=0)


class Meal(models.Model):
    """What refers to the parent."""

    place = models.ForeignKey(Place, models.CASCADE)

    def __str__(self) -> str:
        return str(self.pk)


class Event(models.Model):
    """A row that enters and leaves by the clock."""

    slug = models.SlugField(max_length=80)
    starts_at = models.DateTimeField(null=True)
    ends_at = models.DateTimeField(null=True)
    updated_at = models.DateTimeField(null=True, db_index=True)

    def __str__(self) -> str:
        return self.slug


class Country(models.Model):
    """The far end of a relation that does not hold its primary key."""

    code = models.CharField(max_length=2, unique=True)
    name = models.CharField(max_length=80)

    def __str__(self) -> str:
        return self.code


class Town(models.Model):
    """The near end."""

    country = models.ForeignKey(Country, models.CASCADE, to_field="code")
    slug = models.SlugField(max_length=80)

    def __str__(self) -> str:
        return self.slug


class Post(models.Model):
    """A column that the database computes, of which a save names only the sources."""

    country = models.ForeignKey(Country, models.CASCADE, null=True)
    slug = models.SlugField(max_length=80)
    published_at = models.DateTimeField(null=True)
    visits = models.IntegerField(default=0)
    is_live = models.GeneratedField(
        expression=models.Q(published_at__isnull=False),
        output_field=models.BooleanField(),
        db_persist=True,
    )

    def __str__(self) -> str:
        return self.slug


class Actor(models.Model):
    """The far end of a many-to-many relation with a model of its own between."""

    name = models.CharField(max_length=40)

    def __str__(self) -> str:
        return self.name


class Film(models.Model):
    """The near end."""

    slug = models.SlugField(max_length=80, unique=True)
    cast = models.ManyToManyField(Actor, through="Role")

    def __str__(self) -> str:
        return self.slug


class Role(models.Model):
    """The model between; nobody looks it up from a film."""

    film = models.ForeignKey(Film, models.CASCADE, related_name="+")
    actor = models.ForeignKey(Actor, models.CASCADE)
    character = models.CharField(max_length=40, blank=True)

    def __str__(self) -> str:
        return self.character


class Venue(models.Model):
    """The parent of a child that has a key of its own."""

    slug = models.SlugField(max_length=80)
    tags = models.ManyToManyField("testapp.Tag")

    def __str__(self) -> str:
        return self.slug


class Theatre(Venue):
    """The child: its key is not that of the venue that it is."""

    number = models.BigAutoField(primary_key=True)
    venue = models.OneToOneField(Venue, models.CASCADE, parent_link=True)
    seats = models.IntegerField(default=0)


class Opera(Theatre):
    """A child of the child, which has its key."""


class Museum(Venue):
    """Another child, which may be the same venue."""


class Show(models.Model):
    """What refers to a child."""

    theatre = models.ForeignKey(Theatre, models.CASCADE)
    slug = models.SlugField(max_length=80)

    def __str__(self) -> str:
        return self.slug


class Annex(Venue):
    """A child that its parent does not know."""

    venue = models.OneToOneField(
        Venue, models.CASCADE, parent_link=True, primary_key=True, related_name="+"
    )
