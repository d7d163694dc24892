"""Sections, pages, changes, publications and leftovers."""

from __future__ import annotations

import django.db.models.deletion
import django.db.models.functions.datetime
from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True

    dependencies = []

    operations = [
        migrations.CreateModel(
            name="Change",
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
                ("section", models.CharField(max_length=64)),
                (
                    "kind",
                    models.CharField(
                        choices=[
                            ("key", "key"),
                            ("range", "range"),
                            ("related", "related"),
                            ("audit", "audit"),
                        ],
                        max_length=8,
                    ),
                ),
                ("low", models.TextField(blank=True)),
                ("high", models.TextField(blank=True)),
                (
                    "at",
                    models.DateTimeField(
                        db_default=django.db.models.functions.datetime.Now()
                    ),
                ),
            ],
            options={
                "abstract": False,
                "base_manager_name": "objects",
                "indexes": [
                    models.Index(
                        fields=["section", "id"], name="sitemaps_plus_change_order"
                    )
                ],
            },
        ),
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
                ("plan_version", models.PositiveBigIntegerField(default=0)),
                ("next_number", models.PositiveIntegerField(default=1)),
                ("fingerprint", models.CharField(blank=True, max_length=64)),
                ("watermark", models.DateTimeField(null=True)),
                ("seen", models.TextField(blank=True)),
                ("looked_at", models.DateTimeField(null=True)),
                ("peak", models.PositiveBigIntegerField(default=0)),
                ("earlier_peak", models.PositiveBigIntegerField(default=0)),
                ("peak_since", models.DateTimeField(null=True)),
                ("lost", models.PositiveBigIntegerField(default=0)),
                ("held", models.TextField(blank=True)),
                ("missing_since", models.DateTimeField(null=True)),
            ],
            options={
                "abstract": False,
                "base_manager_name": "objects",
                "constraints": [
                    models.UniqueConstraint(
                        fields=("site", "name"), name="sitemaps_plus_section_key"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="Publication",
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
                ("old", models.JSONField(default=list)),
                ("new", models.JSONField(default=list)),
                ("announce", models.BooleanField(default=True)),
                ("claimed_at", models.DateTimeField(null=True)),
                (
                    "at",
                    models.DateTimeField(
                        db_default=django.db.models.functions.datetime.Now()
                    ),
                ),
                (
                    "section",
                    models.ForeignKey(
                        db_constraint=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        to="sitemaps_plus.section",
                    ),
                ),
            ],
            options={
                "abstract": False,
                "base_manager_name": "objects",
            },
        ),
        migrations.CreateModel(
            name="Leftover",
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
                ("object", models.CharField(max_length=255, unique=True)),
                (
                    "noticed_at",
                    models.DateTimeField(
                        db_default=django.db.models.functions.datetime.Now()
                    ),
                ),
                (
                    "section",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        to="sitemaps_plus.section",
                    ),
                ),
            ],
            options={
                "abstract": False,
                "base_manager_name": "objects",
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
                ("place", models.PositiveIntegerField(default=0)),
                ("low", models.TextField(null=True)),
                ("high", models.TextField(null=True)),
                ("low_number", models.BigIntegerField(null=True)),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("active", "active"),
                            ("coming", "coming"),
                            ("retired", "retired"),
                        ],
                        default="active",
                        max_length=8,
                    ),
                ),
                ("retired_at", models.DateTimeField(null=True)),
                ("wanted", models.PositiveBigIntegerField(default=1)),
                ("built", models.PositiveBigIntegerField(default=0)),
                (
                    "is_dirty",
                    models.GeneratedField(
                        db_persist=True,
                        expression=models.Case(
                            models.When(then=1, wanted__gt=models.F("built")), default=0
                        ),
                        output_field=models.PositiveSmallIntegerField(),
                    ),
                ),
                ("token", models.CharField(blank=True, max_length=32)),
                ("claimed_at", models.DateTimeField(null=True)),
                ("attempts", models.PositiveSmallIntegerField(default=0)),
                ("error", models.TextField(blank=True)),
                (
                    "hold",
                    models.CharField(
                        blank=True,
                        choices=[
                            ("", "none"),
                            ("held", "held"),
                            ("released", "released"),
                        ],
                        default="",
                        max_length=8,
                    ),
                ),
                ("held_entries", models.PositiveIntegerField(default=0)),
                ("held_skipped", models.PositiveIntegerField(default=0)),
                ("announce", models.BooleanField(default=True)),
                ("checked_at", models.DateTimeField(null=True)),
                ("object", models.CharField(blank=True, max_length=255)),
                ("entries", models.PositiveIntegerField(default=0)),
                ("skipped", models.PositiveIntegerField(default=0)),
                ("dropped", models.PositiveIntegerField(default=0)),
                ("plain_size", models.PositiveBigIntegerField(default=0)),
                ("gzip_size", models.PositiveBigIntegerField(default=0)),
                ("plain_hash", models.CharField(blank=True, max_length=64)),
                ("gzip_hash", models.CharField(blank=True, max_length=64)),
                ("lastmod", models.CharField(blank=True, max_length=25)),
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
                "abstract": False,
                "base_manager_name": "objects",
                "indexes": [
                    models.Index(
                        fields=["section", "is_dirty"], name="sitemaps_plus_dirty"
                    ),
                    models.Index(
                        fields=["section", "state", "hold"], name="sitemaps_plus_state"
                    ),
                    models.Index(
                        fields=["section", "checked_at"], name="sitemaps_plus_checked"
                    ),
                    models.Index(
                        fields=["section", "low_number"], name="sitemaps_plus_low"
                    ),
                ],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("section", "number"), name="sitemaps_plus_page_number"
                    )
                ],
            },
        ),
    ]
