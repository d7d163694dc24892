"""Rows that others refer to: several photos each, by every kind of relation."""

from typing import Any

from django.contrib.contenttypes.fields import GenericForeignKey, GenericRelation
from django.contrib.contenttypes.models import ContentType
from django.db import models

from django_sitemaps_plus import Video


class VideoField(models.CharField):
    """Holds the address of a video, and is read as one."""

    def from_db_value(self, value: str, expression: Any, connection: Any) -> Any:
        """Return the video; of no address, None."""
        if not value:
            return None
        return Video(
            thumbnail_loc=f"{value}.jpg",
            title=value.rpartition("/")[2],
            description="A film.",
            content_loc=value,
        )


class Gallery(models.Model):
    """The row that has photos."""

    slug = models.SlugField(max_length=80, unique=True)
    is_open = models.BooleanField(default=True)
    updated_at = models.DateTimeField(null=True, db_index=True)
    favourites = models.ManyToManyField("Photo", related_name="fans")
    loans = models.ManyToManyField("Photo", through="Loan", related_name="borrowers")
    notes = GenericRelation("Note")

    def __str__(self) -> str:
        return self.slug


class Wing(models.Model):
    """A part of a gallery, whose order is not that of its photos."""

    gallery = models.ForeignKey(Gallery, models.CASCADE, related_name="wings")
    name = models.CharField(max_length=40)

    class Meta:
        ordering = ["-name"]

    def __str__(self) -> str:
        return self.name


class Photo(models.Model):
    """What there are several of, in an order of their own."""

    gallery = models.ForeignKey(
        Gallery, models.CASCADE, null=True, related_name="photos"
    )
    wing = models.ForeignKey(Wing, models.CASCADE, null=True, related_name="pictures")
    image = models.FileField(max_length=250, null=True)  # an ImageField needs Pillow
    address = models.CharField(max_length=250, blank=True)
    film = VideoField(max_length=250, blank=True)
    versions = models.JSONField(null=True)
    position = models.IntegerField(default=0)
    taken = models.DateTimeField(null=True)
    caption = models.CharField(max_length=40, blank=True)

    class Meta:
        ordering = ["position"]

    def __str__(self) -> str:
        return str(self.image)


class Loan(models.Model):
    """The model between a gallery and the photos that it borrows."""

    gallery = models.ForeignKey(Gallery, models.CASCADE)
    photo = models.ForeignKey(Photo, models.CASCADE)

    def __str__(self) -> str:
        return str(self.pk)


class Note(models.Model):
    """What refers to rows of any model."""

    # Without a constraint: tables of this app are made before that of content types.
    content_type = models.ForeignKey(ContentType, models.CASCADE, db_constraint=False)
    object_id = models.PositiveBigIntegerField()
    of = GenericForeignKey()
    address = models.CharField(max_length=250)
    text = models.CharField(max_length=40, blank=True)

    def __str__(self) -> str:
        return self.text


class Cover(models.Model):
    gallery = models.OneToOneField(Gallery, models.CASCADE, related_name="cover")
    address = models.CharField(max_length=250)

    def __str__(self) -> str:
        return self.address
