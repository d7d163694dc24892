"""Deliveries: what engines are to be told."""

from __future__ import annotations

import django.db.models.functions.datetime
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("sitemaps_plus", "0001_initial"),
    ]

    operations = [
        migrations.AddField(
            model_name="page",
            name="changed_at",
            field=models.DateTimeField(null=True),
        ),
        migrations.AddField(
            model_name="publication",
            name="keys",
            field=models.JSONField(default=list),
        ),
        migrations.CreateModel(
            name="Delivery",
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
                ("engine", models.CharField(max_length=64)),
                ("host", models.CharField(max_length=255)),
                ("target", models.TextField()),
                ("is_feed", models.BooleanField(default=False)),
                ("target_hash", models.CharField(max_length=64)),
                ("wanted", models.PositiveBigIntegerField(default=0)),
                ("sent", models.PositiveBigIntegerField(default=0)),
                (
                    "state",
                    models.GeneratedField(
                        db_persist=True,
                        expression=models.Case(
                            models.When(then=0, wanted__lte=models.F("sent")),
                            models.When(dead_since__isnull=False, then=2),
                            default=1,
                        ),
                        output_field=models.PositiveSmallIntegerField(
                            choices=[(0, "Told"), (1, "Waiting"), (2, "Dead")]
                        ),
                    ),
                ),
                (
                    "changed_at",
                    models.DateTimeField(
                        db_default=django.db.models.functions.datetime.Now()
                    ),
                ),
                (
                    "not_before",
                    models.DateTimeField(
                        db_default=django.db.models.functions.datetime.Now()
                    ),
                ),
                ("token", models.CharField(blank=True, max_length=32)),
                ("sending", models.PositiveBigIntegerField(default=0)),
                ("attempts", models.PositiveIntegerField(default=0)),
                ("error", models.TextField(blank=True)),
                ("rejections", models.PositiveIntegerField(default=0)),
                ("dead_since", models.DateTimeField(null=True)),
                ("sent_at", models.DateTimeField(null=True)),
                ("feedback", models.JSONField(null=True)),
                ("feedback_at", models.DateTimeField(null=True)),
            ],
            options={
                "verbose_name_plural": "deliveries",
                "abstract": False,
                "base_manager_name": "objects",
                "indexes": [
                    models.Index(
                        fields=[
                            "site",
                            "engine",
                            "state",
                            "host",
                            "not_before",
                            "id",
                        ],
                        name="sitemaps_plus_waiting",
                    )
                ],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("site", "engine", "target_hash"),
                        name="sitemaps_plus_delivery_target",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="Recipient",
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
                ("engine", models.CharField(max_length=64)),
                ("host", models.CharField(max_length=255)),
                ("token", models.CharField(blank=True, max_length=32)),
                ("claimed_at", models.DateTimeField(null=True)),
                ("failures", models.PositiveIntegerField(default=0)),
                (
                    "not_before",
                    models.DateTimeField(
                        db_default=django.db.models.functions.datetime.Now()
                    ),
                ),
                ("batch", models.PositiveIntegerField(default=0)),
                ("rejections", models.PositiveIntegerField(default=0)),
                ("parked", models.TextField(blank=True)),
                ("error", models.TextField(blank=True)),
                ("sent_at", models.DateTimeField(null=True)),
            ],
            options={
                "abstract": False,
                "base_manager_name": "objects",
                "constraints": [
                    models.UniqueConstraint(
                        fields=("site", "engine", "host"),
                        name="sitemaps_plus_recipient_key",
                    )
                ],
            },
        ),
    ]
