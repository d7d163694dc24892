"""Sections and pages."""

from __future__ import annotations

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True

    dependencies = []

    operations = [
        migrations.CreateModel(
            name="Section",
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
                ("site", models.CharField(max_length=64)),
                ("name", models.CharField(blank=True, max_length=64)),
                ("version", models.PositiveBigIntegerField(default=0)),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        fields=("site", "name"), name="sitemaps_plus_section_key"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="Page",
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
                ("number", models.PositiveIntegerField()),
                ("low", models.TextField(null=True)),
                ("high", models.TextField(null=True)),
                ("object", models.CharField(blank=True, max_length=255)),
                ("entries", models.PositiveIntegerField(default=0)),
                ("skipped", models.PositiveIntegerField(default=0)),
                ("dropped", models.PositiveIntegerField(default=0)),
                ("plain_size", models.PositiveBigIntegerField(default=0)),
                ("gzip_size", models.PositiveBigIntegerField(default=0)),
                ("plain_hash", models.CharField(blank=True, max_length=64)),
                ("gzip_hash", models.CharField(blank=True, max_length=64)),
                ("lastmod", models.DateTimeField(null=True)),
                ("published_at", models.DateTimeField(null=True)),
                (
                    "section",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="pages",
                        to="sitemaps_plus.section",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        fields=("section", "number"), name="sitemaps_plus_page_number"
                    )
                ],
            },
        ),
    ]
