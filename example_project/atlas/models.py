"""Countries and cities, as GeoNames describes them."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.db import models
from django.urls import reverse
from django.utils import timezone
from django.utils.text import slugify
from django.utils.translation import get_language, override

from .slugs import make_slug


class Place(models.Model):
    """What countries and cities share: a name, a slug and the time of the last edit."""

    name = models.CharField(max_length=200)
    slug = models.SlugField(
        max_length=200,
        allow_unicode=True,
        db_index=False,
        blank=True,
        help_text="Made from the name where left empty.",
    )
    population = models.PositiveBigIntegerField(default=0)
    # auto_now would overwrite the dates that load_atlas gives in bulk, so save()
    # moves this field.
    updated_at = models.DateTimeField(
        default=timezone.now, db_index=True, editable=False
    )

    class Meta:
        abstract = True

    def __str__(self) -> str:
        return self.name

    def save(self, *args: Any, **kwargs: Any) -> None:
        """Save the place, dated now and with a slug."""
        self.fill_slug()
        self.updated_at = timezone.now()
        if kwargs.get("update_fields"):
            kwargs["update_fields"] = {*kwargs["update_fields"], "updated_at"}
        super().save(*args, **kwargs)

    def clean(self) -> None:
        """Fill the slug before the form looks whether it is taken."""
        super().clean()
        self.fill_slug()

    def fill_slug(self) -> None:
        """Make the slug from the name, unless there is one: a new name moves no URL."""
        self.slug = self.slug or make_slug(self.name)


class Continent(models.TextChoices):
    """The continents, by their GeoNames codes."""

    AFRICA = "AF", "Africa"
    ANTARCTICA = "AN", "Antarctica"
    ASIA = "AS", "Asia"
    EUROPE = "EU", "Europe"
    NORTH_AMERICA = "NA", "North America"
    OCEANIA = "OC", "Oceania"
    SOUTH_AMERICA = "SA", "South America"


class Country(Place):
    """A country or territory that has an ISO 3166-1 code."""

    code = models.CharField(
        max_length=2, unique=True, help_text="Two letters of ISO 3166-1."
    )
    slug = models.SlugField(max_length=200, unique=True, blank=True)
    continent = models.CharField(max_length=2, choices=Continent)
    capital = models.CharField(max_length=100, blank=True)
    area = models.PositiveBigIntegerField(default=0, help_text="Square kilometres.")
    currency = models.CharField(
        max_length=3, blank=True, help_text="Three letters of ISO 4217."
    )

    class Meta:
        # By slug, for a database may sort "Åland Islands" behind "Zimbabwe".
        ordering = ("slug",)
        verbose_name_plural = "countries"

    def get_absolute_url(self) -> str:
        """Return the path of the country's page."""
        return reverse("atlas:country", kwargs={"slug": self.slug})

    def fill_slug(self) -> None:
        """Make the slug from the name, or from the code where that has no ASCII."""
        self.slug = self.slug or slugify(self.name) or self.code.lower()


class City(Place):
    """A city, town or village of GeoNames."""

    geoname_id = models.PositiveIntegerField(
        unique=True, help_text="The number of the city at GeoNames."
    )
    country = models.ForeignKey(
        Country, on_delete=models.CASCADE, related_name="cities", db_index=False
    )
    latitude = models.FloatField(help_text="Degrees north.")
    longitude = models.FloatField(help_text="Degrees east.")
    timezone = models.CharField(max_length=50, help_text="For example Asia/Tokyo.")
    alternate_names = models.TextField(
        blank=True, help_text="Names in other languages and scripts, one a line."
    )

    # Named as django-modeltranslation does. A slug of None: no page in that language.
    name_el = models.CharField("name in Greek", max_length=200, blank=True)
    name_he = models.CharField("name in Hebrew", max_length=200, blank=True)
    name_ko = models.CharField("name in Korean", max_length=200, blank=True)
    slug_el = models.CharField(max_length=200, null=True, editable=False)  # noqa: DJ001
    slug_he = models.CharField(max_length=200, null=True, editable=False)  # noqa: DJ001
    slug_ko = models.CharField(max_length=200, null=True, editable=False)  # noqa: DJ001

    class Meta:
        ordering = ("-population", "geoname_id")
        verbose_name_plural = "cities"
        indexes = (
            models.Index(
                fields=["-population", "geoname_id"], name="atlas_city_biggest"
            ),
            models.Index(
                fields=["country", "-population", "geoname_id"],
                name="atlas_city_country_biggest",
            ),
            models.Index(fields=["country", "latitude"], name="atlas_city_nearby"),
        )

    def get_absolute_url(self) -> str:
        """Return the path of the city's page in the language in force, else English."""
        own = getattr(self, f"slug_{get_language()}", None)
        with override(get_language() if own else settings.LANGUAGE_CODE):
            arguments = {"geoname_id": self.geoname_id, "slug": own or self.slug}
            return reverse("atlas:city", kwargs=arguments)

    def fill_slug(self) -> None:
        """Make the slugs of all names."""
        super().fill_slug()
        for language in ("el", "he", "ko"):
            name = getattr(self, f"name_{language}")
            setattr(self, f"slug_{language}", make_slug(name) if name else None)

    @property
    def local_name(self) -> str:
        """The name in the language in force, or the usual one."""
        return getattr(self, f"name_{get_language()}", "") or self.name

    @property
    def other_names(self) -> list[str]:
        """The alternate names without the name itself."""
        return [name for name in self.alternate_names.splitlines() if name != self.name]
