"""Bytes that tables and files take in two rounds of changes; days pass by a trick."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

ROWS, CHANGES = 1_000_000, 50_000
DAYS = timedelta(days=3)  # longer than anything is kept
SIZE = {
    "sqlite": "SELECT SUM(pgsize) FROM dbstat JOIN sqlite_master USING (name)"
    " WHERE tbl_name = %s",
    "postgresql": "SELECT pg_total_relation_size(%s)",
}


def main() -> None:
    """Measure on the database that TEST_DB names, or else on each, in its process."""
    if "TEST_DB" in os.environ:
        measure()
        return
    for database in SIZE:
        words = [sys.executable, "-m", "tests.benchmarks.size"]
        subprocess.run(words, env={**os.environ, "TEST_DB": database}, check=True)


def measure() -> None:
    """Print a table for each stage of a section of a million rows."""
    os.environ["DJANGO_SETTINGS_MODULE"] = "tests.benchmarks.settings"
    import django

    django.setup()
    from django.conf import settings
    from django.core.management import call_command
    from django.db import connection, transaction
    from django.db.models import F
    from django.test.utils import override_settings

    from django_sitemaps_plus.models import Delivery
    from django_sitemaps_plus.testing import temporary_source
    from tests.benchmarks.machine import describe_database
    from tests.benchmarks.rows import add_products
    from tests.benchmarks.sources import DeclaredSource
    from tests.support.testapp.models import Product

    engine = {"BACKEND": "django_sitemaps_plus.testing.RecordingEngine"}
    own = {"ENGINES": {"engine": engine}, "NOTIFY": True, "NOTIFY_DELAY_SECONDS": 0}
    own = {**settings.SITEMAPS_PLUS, **own, "NOTIFY_INTERVAL_SECONDS": 0}
    connection.creation.create_test_db(verbosity=0, autoclobber=True, serialize=False)
    with override_settings(SITEMAPS_PLUS=own), temporary_source("it", DeclaredSource()):
        add_products(ROWS)
        print(f"{datetime.now(UTC):%Y-%m-%d}, {describe_database()}, {ROWS:,} rows")
        call_command("build_sitemaps", verbosity=0)
        show("built")
        for seed in 1, 2:
            keys = random.Random(seed).sample(range(1, ROWS + 1), CHANGES)
            with transaction.atomic():
                for product in Product.objects.filter(pk__in=keys).iterator():
                    product.updated_at += timedelta(days=1)
                    product.save()
            show(f"{CHANGES:,} changes wait")
            call_command("build_sitemaps", verbosity=0)
            call_command("notify_search_engines", verbosity=0)
            show("built and submitted")
            Delivery.objects.update(not_before=F("not_before") - DAYS)
            for file in Path(settings.MEDIA_ROOT).rglob("*.gz"):
                then = file.stat().st_mtime - DAYS.total_seconds()
                os.utime(file, (then, then))
            call_command("prune_sitemaps", verbosity=0)
            show("pruned, days later")


def show(stage: str) -> None:
    """Print number and bytes of our rows and files."""
    from django.db import connection

    print(f"\n| {stage} | number | bytes |\n|---|---|---|")
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("VACUUM ANALYZE")
    for name, number, size in sizes():
        print(f"| {name} | {number:,} | {size:,} |", flush=True)


def sizes(*others: Any) -> Iterator[tuple[str, int, int]]:
    """Yield number and bytes of rows, with their indexes, and of our files."""
    from django.apps import apps
    from django.conf import settings
    from django.db import connection

    own = apps.get_app_config("sitemaps_plus").get_models()
    for model in [*others, *[it for it in own if not it._meta.proxy]]:
        with connection.cursor() as cursor:
            cursor.execute(SIZE[connection.vendor], [model._meta.db_table])
            size = cursor.fetchone()[0]
        yield model.__name__, model._base_manager.count(), size
    files = [it.stat() for it in Path(settings.MEDIA_ROOT).rglob("*.gz")]
    stored = {it.st_ino: it.st_size for it in files}  # a public name is a link
    yield "files", len(stored), sum(stored.values())


if __name__ == "__main__":
    main()
