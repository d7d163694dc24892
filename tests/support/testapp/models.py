"""A small shop with every kind of key that pages can be cut by."""

import uuid

from django.db import models
from django.urls import reverse


class Product(models.Model):
    """Integer key, an ordering that sitemaps must not follow."""

    name = models.CharField(max_length=100)
    slug = models.SlugField(max_length=80, unique=True)
    updated_at = models.DateTimeField(null=True, db_index=True)
    created_on = models.DateField(null=True)
    published = models.BooleanField(default=True)
    popularity = models.FloatField(null=True)
    frequency = models.CharField(max_length=20, blank=True)

    class Meta:
        ordering = ["-name"]

    def __str__(self) -> str:
        return self.name

    def get_absolute_url(self) -> str:
        return reverse("product-detail", kwargs={"slug": self.slug})


class Shop(models.Model):
    id = models.UUIDField(primary_key=True, default=uuid.uuid4)
    name = models.CharField(max_length=100)
    updated_at = models.DateTimeField(null=True)

    def __str__(self) -> str:
        return self.name


class Label(models.Model):
    code = models.CharField(primary_key=True, max_length=60)
    updated_at = models.DateTimeField(null=True)

    def __str__(self) -> str:
        return self.code


class Author(models.Model):
    """The far end of a relation."""

    name = models.CharField(max_length=100)
    updated_at = models.DateTimeField(null=True)

    def __str__(self) -> str:
        return self.name


class Tag(models.Model):
    """The far end of a many-to-many relation."""

    name = models.CharField(max_length=40)

    def __str__(self) -> str:
        return self.name


class Book(models.Model):
    """The near end of both."""

    author = models.ForeignKey(Author, models.CASCADE)
    slug = models.SlugField(max_length=80)
    tags = models.ManyToManyField(Tag)

    def __str__(self) -> str:
        return self.slug


from .gallery import *  # noqa: E402, F403 - Django looks for models in this module
from .more_models import *  # noqa: E402, F403 - Django looks for models in this module
