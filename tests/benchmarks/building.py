"""Builds of the benchmark, and the loop that no build can beat by much."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.files.base import ContentFile
from django.db import connection

from django_sitemaps_plus.core.compression import _compressor
from django_sitemaps_plus.models import Section
from django_sitemaps_plus.sources import ModelSource
from django_sitemaps_plus.storage import get_storage
from tests.integration.builds import build
from tests.testapp.models import Product

_HIDDEN = "hidden"
_HEAD = (
    b'<?xml version="1.0" encoding="UTF-8"?>\n'
    b'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">\n'
)
_TEXT = {
    "sqlite": "substr(updated_at, 1, 10) || 'T' || substr(updated_at, 12, 8)",
    "postgresql": "to_char(updated_at AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS')",
}
_CHUNK = 500


def unbuild() -> None:
    """Forget what was built, and remove its files."""
    Section.objects.all().delete()
    shutil.rmtree(Path(settings.MEDIA_ROOT), ignore_errors=True)


def build_all(entries: int, workers: int = 1) -> None:
    """Build all sections.

    Raises:
        RuntimeError: they have another number of entries.
    """
    report = build(workers=workers)
    built = sum([section.entries for section in report.sections])
    if built != entries:
        raise RuntimeError(f"{built:,} entries were built, not {entries:,}")


def hide() -> None:
    """Let the site seem unbuilt."""
    Section.objects.filter(site="default").update(site=_HIDDEN)


def show() -> None:
    """Undo :func:`hide`."""
    Section.objects.filter(site=_HIDDEN).update(site="default")


def bare_loop(entries: int) -> None:
    """Write the same files as a build by a cursor, an f-string a row, and no checks.

    Rows come by key, a page at a time; dates come as text; compressor and storage are
    the package's own. Nothing is planned, checked, hashed or remembered.

    Raises:
        RuntimeError: there are more or fewer rows.
    """
    storage, key, written = get_storage(), 0, 0
    for number in range(1, entries // ModelSource.limit + 2):
        rows = _rows(key)
        if not rows:
            break
        content = b"".join(_compressed(rows))
        storage.save(f"bare/{number}/page.xml.gz", ContentFile(content))
        key, written = rows[-1][0], written + len(rows)
    if written != entries:
        raise RuntimeError(f"{written:,} entries were written, not {entries:,}")


def _rows(key: int) -> list[tuple[Any, ...]]:
    table = Product._meta.db_table
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT id, slug, {_TEXT[connection.vendor]} FROM {table} "  # noqa: S608
            "WHERE id > %s ORDER BY id LIMIT %s",
            [key, ModelSource.limit],
        )
        return cursor.fetchall()


def _compressed(rows: list[tuple[Any, ...]]) -> Iterator[bytes]:
    compressor = _compressor()
    yield compressor.compress(_HEAD)
    remaining = iter(rows)
    while chunk := list(islice(remaining, _CHUNK)):
        lines = [
            f"<url><loc>https://example.com/products/{slug}/</loc>"
            f"<lastmod>{changed}+00:00</lastmod></url>\n"
            for _, slug, changed in chunk
        ]
        yield compressor.compress("".join(lines).encode())
    yield compressor.compress(b"</urlset>\n")
    yield compressor.flush()
