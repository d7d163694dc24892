"""Creates the tables of countries and cities."""

from __future__ import annotations

import django.db.models.deletion
import django.utils.timezone
from django.db import migrations, models


class Migration(migrations.Migration):
    """The first tables of the atlas."""

    initial = True

    dependencies = []

    operations = [
        migrations.CreateModel(
            name="Country",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True,
                        primary_key=True,
                        serialize=False,
                        verbose_name="ID",
                    ),
                ),
                ("name", models.CharField(max_length=200)),
                ("population", models.PositiveBigIntegerField(default=0)),
                (
                    "updated_at",
                    models.DateTimeField(
                        db_index=True, default=django.utils.timezone.now, editable=False
                    ),
                ),
                (
                    "code",
                    models.CharField(
                        help_text="Two letters of ISO 3166-1.",
                        max_length=2,
                        unique=True,
                    ),
                ),
                ("slug", models.SlugField(blank=True, max_length=200, unique=True)),
                (
                    "continent",
                    models.CharField(
                        choices=[
                            ("AF", "Africa"),
                            ("AN", "Antarctica"),
                            ("AS", "Asia"),
                            ("EU", "Europe"),
                            ("NA", "North America"),
                            ("OC", "Oceania"),
                            ("SA", "South America"),
                        ],
                        max_length=2,
                    ),
                ),
                ("capital", models.CharField(blank=True, max_length=100)),
                (
                    "area",
                    models.PositiveBigIntegerField(
                        default=0, help_text="Square kilometres."
                    ),
                ),
                (
                    "currency",
                    models.CharField(
                        blank=True, help_text="Three letters of ISO 4217.", max_length=3
                    ),
                ),
            ],
            options={
                "verbose_name_plural": "countries",
                "ordering": ("slug",),
            },
        ),
        migrations.CreateModel(
            name="City",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True,
                        primary_key=True,
                        serialize=False,
                        verbose_name="ID",
                    ),
                ),
                ("name", models.CharField(max_length=200)),
                (
                    "slug",
                    models.SlugField(
                        allow_unicode=True,
                        blank=True,
                        db_index=False,
                        help_text="Made from the name where left empty.",
                        max_length=200,
                    ),
                ),
                ("population", models.PositiveBigIntegerField(default=0)),
                (
                    "updated_at",
                    models.DateTimeField(
                        db_index=True, default=django.utils.timezone.now, editable=False
                    ),
                ),
                (
                    "geoname_id",
                    models.PositiveIntegerField(
                        help_text="The number of the city at GeoNames.", unique=True
                    ),
                ),
                ("latitude", models.FloatField(help_text="Degrees north.")),
                ("longitude", models.FloatField(help_text="Degrees east.")),
                (
                    "timezone",
                    models.CharField(
                        help_text="For example Asia/Tokyo.", max_length=50
                    ),
                ),
                (
                    "alternate_names",
                    models.TextField(
                        blank=True,
                        help_text="Names in other languages and scripts, one a line.",
                    ),
                ),
                (
                    "name_el",
                    models.CharField(
                        blank=True, max_length=200, verbose_name="name in Greek"
                    ),
                ),
                (
                    "name_he",
                    models.CharField(
                        blank=True, max_length=200, verbose_name="name in Hebrew"
                    ),
                ),
                (
                    "name_ko",
                    models.CharField(
                        blank=True, max_length=200, verbose_name="name in Korean"
                    ),
                ),
                (
                    "slug_el",
                    models.CharField(editable=False, max_length=200, null=True),
                ),
                (
                    "slug_he",
                    models.CharField(editable=False, max_length=200, null=True),
                ),
                (
                    "slug_ko",
                    models.CharField(editable=False, max_length=200, null=True),
                ),
                (
                    "country",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="cities",
                        to="atlas.country",
                    ),
                ),
            ],
            options={
                "verbose_name_plural": "cities",
                "ordering": ("-population", "geoname_id"),
                "indexes": [
                    models.Index(
                        fields=["-population", "geoname_id"], name="atlas_city_biggest"
                    ),
                    models.Index(
                        fields=["country", "-population", "geoname_id"],
                        name="atlas_city_country_biggest",
                    ),
                    models.Index(
                        fields=["country", "latitude"], name="atlas_city_nearby"
                    ),
                ],
            },
        ),
    ]
