"""Models that are inherited, scheduled, dated by day and joined by a code."""

from __future__ import annotations

from typing import Any

from django.db import models
from django.db.models import functions


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
    number = models.BigAutoField(primary_key=True)
    venue = models.OneToOneField(Venue, models.CASCADE, parent_link=True)
    seats = models.IntegerField(default=0)


class Opera(Theatre):
    """A child of the child, which has its key."""


class Museum(Venue):
    """Another child, which may be the same venue."""


class Show(models.Model):
    theatre = models.ForeignKey(Theatre, models.CASCADE)
    slug = models.SlugField(max_length=80)

    def __str__(self) -> str:
        return self.slug


class Annex(Venue):
    """A child that its parent does not know."""

    venue = models.OneToOneField(
        Venue, models.CASCADE, parent_link=True, primary_key=True, related_name="+"
    )


class Painting(models.Model):
    """A row with a file."""

    slug = models.SlugField(max_length=80)
    photo = models.FileField(max_length=250, null=True)  # an ImageField needs Pillow

    def __str__(self) -> str:
        return self.slug


class Picture(models.Model):
    """A row of a media library: an object with a URL."""

    name = models.CharField(max_length=80)

    def __str__(self) -> str:
        return self.name

    @property
    def url(self) -> str:
        """Return where it is; one is missing there."""
        if self.name == "lost":
            raise ValueError("no file")
        return f"https://cdn.example/{self.name}.jpg"


class Reprint(models.Model):
    """The far end of a relation to one."""

    painting = models.ForeignKey(Painting, models.CASCADE)
    picture = models.ForeignKey(Picture, models.SET_NULL, null=True)
    scan = models.FilePathField(blank=True)
    slug = models.SlugField(max_length=80)

    def __str__(self) -> str:
        return self.slug


class PathNode(models.Model):
    """The base of a tree by materialised paths, four characters a level."""

    path = models.CharField(max_length=80, unique=True)

    class Meta:
        abstract = True

    def get_descendants(self) -> models.QuerySet[PathNode]:
        rows = type(self)._default_manager.filter(path__startswith=self.path)
        return rows.exclude(pk=self.pk)

    def move(self, path: str) -> None:
        """Move the row and all below it by one statement, which sends no signal."""
        rows = type(self)._default_manager.filter(path__startswith=self.path)
        rest = functions.Substr("path", len(self.path) + 1)
        rows.update(path=functions.Concat(models.Value(path), rest))
        self.path = path


class Topic(PathNode):
    """A row whose URL and visibility depend on the rows above it."""

    slug = models.SlugField(max_length=40)
    is_public = models.BooleanField(default=True)

    def __str__(self) -> str:
        return self.slug

    def get_absolute_url(self) -> str | None:
        """Return the slugs from the root down; None below a row that is not public."""
        ends = range(4, len(self.path) + 4, 4)
        above = Topic.objects.filter(path__in=[self.path[:end] for end in ends])
        found = list(above.order_by("path"))
        if not all(topic.is_public for topic in found):
            return None
        return "/topics/{}/".format("/".join([topic.slug for topic in found]))


class Genre(models.Model):
    """A row of a tree by nested sets."""

    tree_id = models.IntegerField()
    lft = models.IntegerField()
    rght = models.IntegerField()
    parent = models.ForeignKey("self", models.CASCADE, null=True)
    slug = models.SlugField(max_length=40)

    def __str__(self) -> str:
        return self.slug

    def get_absolute_url(self) -> str:
        """Return the slugs from the root down."""
        around = {"lft__lte": self.lft, "rght__gte": self.rght}
        above = Genre.objects.filter(tree_id=self.tree_id, **around)
        slugs = above.order_by("lft").values_list("slug", flat=True)
        return "/genres/{}/".format("/".join(slugs))


class Seat(models.Model):
    """A key of two columns."""

    pk = models.CompositePrimaryKey("row", "number")
    row = models.IntegerField()
    number = models.IntegerField()

    def __str__(self) -> str:
        return f"{self.row}-{self.number}"


class Bytes(models.BinaryField):
    """Bytes that MariaDB takes as a key."""

    def db_type(self, connection: Any) -> str | None:
        is_mysql = connection.vendor == "mysql"
        return "varbinary(20)" if is_mysql else super().db_type(connection)


class Blob(models.Model):
    """A key of bytes."""

    digest = Bytes(primary_key=True, max_length=20)

    def __str__(self) -> str:
        return bytes(self.digest).hex()


class Split(models.CharField):
    """A type of another library whose text does not give the value back."""

    def from_db_value(self, value: str, *args: object) -> tuple[str, ...]:
        return tuple(value.split("-"))

    def get_prep_value(self, value: tuple[str, ...] | str) -> str:
        return value if isinstance(value, str) else "-".join(value)


class Upper(models.CharField):
    """A type of another library whose text gives the value back."""

    def from_db_value(self, value: str, *args: object) -> str:
        return value.upper()

    def get_prep_value(self, value: str) -> str:
        return value.lower()


class Sign(int):
    """An integer with a text of its own."""

    def __str__(self) -> str:
        return f"no-{int(self)}"


class Signs(models.IntegerField):
    """A type of another library that reads and writes such texts."""

    def from_db_value(self, value: int, *args: object) -> Sign:
        return Sign(value)

    def to_python(self, value: Any) -> Sign:
        return Sign(str(value).removeprefix("no-"))


class Ticket(models.Model):
    """A key of that type."""

    number = Signs(primary_key=True)

    def __str__(self) -> str:
        return str(self.number)


class Stamp(models.Model):
    """A key of the one."""

    code = Split(primary_key=True, max_length=20)

    def __str__(self) -> str:
        return "-".join(self.code)


class Coin(models.Model):
    """A key of the other."""

    code = Upper(primary_key=True, max_length=20)

    def __str__(self) -> str:
        return self.code
