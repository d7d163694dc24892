"""Builds of the benchmark, and the loop that no build can beat by much."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import chain, islice
from pathlib import Path
from typing import Any
from urllib.parse import quote

from django.conf import settings
from django.core.files.base import ContentFile
from django.db import connection

from django_sitemaps_plus.building.pool import Helpers
from django_sitemaps_plus.core.gzip import _compressor
from django_sitemaps_plus.models import Section
from django_sitemaps_plus.models.claims import BATCH_PAGES
from django_sitemaps_plus.sources import ModelSource
from django_sitemaps_plus.storage import deferred_flush, get_storage
from django_sitemaps_plus.testing import temporary_source
from tests.benchmarks.sources import DeclaredSource
from tests.support.builds import build_fully
from tests.support.testapp.models import Product

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
    """Build all sections, as the command does."""
    with Helpers(workers - 1) as helpers:
        report = build_fully(helpers=helpers if workers > 1 else None)
    built = sum([section.entries for section in report.sections])
    if built != entries:
        raise RuntimeError(f"{built:,} entries were built, not {entries:,}")


@contextmanager
def built(rows: int, source: Any = DeclaredSource) -> Iterator[None]:
    """Have a section that is built, alone, for the time of a ``with`` block."""
    with temporary_source("products", source):
        unbuild()
        build_all(rows)
        yield
        unbuild()


@contextmanager
def helped(rows: int, limit: int) -> Iterator[None]:
    """Let processes that help to build know the section, as ``sized_source`` has it."""
    os.environ["BENCHMARK_SECTION"] = json.dumps([rows, limit])
    yield
    del os.environ["BENCHMARK_SECTION"]


def hide(name: str = _HIDDEN) -> None:
    """Let the site seem unbuilt."""
    Section.objects.filter(site="default").update(site=name)


def show(name: str = _HIDDEN) -> None:
    """Undo :func:`hide`."""
    Section.objects.filter(site=name).update(site="default")


def bare_loop(
    entries: int, limit: int = ModelSource.limit, column: str = "slug"
) -> None:
    """Write the same files as a build by a cursor, an f-string a row, and no checks.

    Rows come by key, a page at a time; dates come as text; compressor, storage and
    flushes are the package's own. Nothing is planned, checked, hashed or remembered.
    """
    written, pages = 0, enumerate(_pages(limit, column), 1)
    while batch := list(islice(pages, 1)):
        with deferred_flush():
            for number, rows in chain(batch, islice(pages, BATCH_PAGES - 1)):
                store_bare(number, rows)
                written += len(rows)
    if written != entries:
        raise RuntimeError(f"{written:,} entries were written, not {entries:,}")


def store_bare(number: int, rows: list[tuple[Any, ...]]) -> None:
    """Render, compress and store one page."""
    content = b"".join(_compressed(rows))
    get_storage().save(f"bare/{number}/page.xml.gz", ContentFile(content))


def bare_rendering(entries: int) -> None:
    """Make the text of all pages by the same loop, and throw it away."""
    made = 0
    for rows in _pages(ModelSource.limit):
        for _ in _texts(rows):
            pass
        made += len(rows)
    if made != entries:
        raise RuntimeError(f"{made:,} entries were rendered, not {entries:,}")


def bare_page(entries: int) -> None:
    """Make the text of the first page by the same loop, and throw it away."""
    for _ in _texts(bare_rows(0, entries)):
        pass


def _pages(limit: int, column: str = "slug") -> Iterator[list[tuple[Any, ...]]]:
    key = 0
    while rows := bare_rows(key, limit, column):
        yield rows
        key = rows[-1][0]


def bare_rows(key: int, limit: int, column: str = "slug") -> list[tuple[Any, ...]]:
    """Return the next rows behind a key, by a cursor, with a column for the URL."""
    table = Product._meta.db_table
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT id, {column}, {_TEXT[connection.vendor]} FROM {table} "  # noqa: S608
            "WHERE id > %s ORDER BY id LIMIT %s",
            [key, limit],
        )
        rows = cursor.fetchall()
    if column == "slug":
        return rows
    return [(key, quote(text, "'"), changed) for key, text, changed in rows]


def _compressed(rows: list[tuple[Any, ...]]) -> Iterator[bytes]:
    compressor = _compressor()
    for text in _texts(rows):
        yield compressor.compress(text)
    yield compressor.flush()


def _texts(rows: list[tuple[Any, ...]]) -> Iterator[bytes]:
    yield _HEAD
    remaining = iter(rows)
    while chunk := list(islice(remaining, _CHUNK)):
        lines = [
            f"<url><loc>https://example.com/products/{slug}/</loc>"
            f"<lastmod>{changed}+00:00</lastmod></url>\n"
            for _, slug, changed in chunk
        ]
        yield "".join(lines).encode()
    yield b"</urlset>\n"
