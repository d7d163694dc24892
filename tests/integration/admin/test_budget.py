"""What the dashboard reads: few queries, of few rows, however many pages there are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pytest
from django.core.cache import cache
from django.db import connection
from django.utils import timezone

from django_sitemaps_plus.models import INDEX, Hold, Page, Section
from django_sitemaps_plus.models.pages import note_damaged
from tests.integration.diagnostics.rows import ENGINE, deliver
from tests.support.shop import ProductSource

#: Without a transaction where ANALYZE ends it, and in one where rows are counted by it.
pytestmark = [
    pytest.mark.database,
    pytest.mark.django_db(transaction=connection.vendor == "mysql"),
]

URL = "/admin/sitemaps_plus/dashboard/"

#: The queries that a view may make.
QUERIES = 12

SECTIONS = 100

#: Pages of each section at first and then, and those of the last section.
FEW, MANY = 5, 50
FEW_OF_LAST, MANY_OF_LAST = 300, 3_000

#: What PostgreSQL counts of pages in a transaction.
_READ = """
SELECT SUM(seq_tup_read + COALESCE(idx_tup_fetch, 0)) FROM pg_stat_xact_user_tables
WHERE relname = 'sitemaps_plus_page'
"""


@pytest.fixture
def large(sections: Any, configure: Any) -> list[Section]:
    """Have a hundred sections, of each of which some pages wait."""
    configure(ENGINES={"one": ENGINE}, NOTIFY=True)
    index = Section.objects.create(site="default", name=INDEX, next_number=0)
    Page.objects.create(section=index, number=0, built=1)
    names = [f"section-{number:03}" for number in range(SECTIONS)]
    for name in names:
        sections.register(name, ProductSource)
    new = [Section(site="default", name=name, next_number=2) for name in names]
    Section.objects.bulk_create(new)
    rows = [*Section.objects.filter(name__in=names).order_by("name")]
    add_pages(rows[:-1], range(1, FEW + 1))
    add_pages(rows[-1:], range(1, FEW_OF_LAST + 1))
    Page.objects.filter(number=1).update(low=None, low_number=None, wanted=2)
    Page.objects.filter(number=2).update(wanted=2, hold=Hold.HELD)
    Page.objects.filter(number=3).update(wanted=2, attempts=9, error="it broke")
    deliver("https://example.com/a", dead_since=timezone.now())
    return rows


def add_pages(rows: Sequence[Section], numbers: range) -> None:
    """Add pages that are fresh, and let the database know its tables."""
    fresh = {"wanted": 1, "built": 1, "entries": 50, "published_at": timezone.now()}
    Page.objects.bulk_create(
        [
            Page(section=row, number=n, low=str(n), low_number=n, **fresh)
            for row in rows
            for n in numbers
        ],
        batch_size=1_000,
    )
    for row in rows:
        Section.objects.recount(row.pk)
    words = "ANALYZE TABLE" if connection.vendor == "mysql" else "ANALYZE"
    with connection.cursor() as cursor:
        cursor.execute(f"{words} sitemaps_plus_page")


@contextmanager
def counted() -> Iterator[list[int]]:
    """Count steps of SQLite's machine, or rows that other databases read."""
    found: list[int] = []
    if connection.vendor == "sqlite":
        steps = iter(range(10**9))
        handle = connection.connection.set_progress_handler
        handle(lambda: next(steps) < 0, 1)
        yield found
        handle(None, 1)
        found.append(next(steps))
    else:
        before = rows_read()
        yield found
        found.append(rows_read() - before)


def rows_read() -> int:
    """Return how many rows were read so far."""
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute(_READ)
            return int(cursor.fetchone()[0])
        cursor.execute("SHOW SESSION STATUS LIKE 'Handler_read%'")
        return sum([int(value) for _, value in cursor.fetchall()])


#: What each view shows of the many pages.
SHOWN = {
    "": f"{50 * MANY_OF_LAST:,}",
    "running/": f"{50 * MANY_OF_LAST:,}",
    "section/?section=section-099": "page 100",
    "section/?section=section-099&from=150": "page 249",
}


def test_more_pages_are_no_more_work(
    large, admin_client, django_assert_max_num_queries
):
    [damaged] = large[0].pages.filter(number=4)

    def look(path: str) -> tuple[str, int]:
        cache.clear()
        note_damaged(damaged)
        with counted() as read, django_assert_max_num_queries(QUERIES):
            answer = admin_client.get(URL + path)
        assert answer.status_code == 200
        return " ".join(answer.text.split()), read[0]

    few = {path: look(path)[1] for path in SHOWN}
    add_pages(large[:-1], range(FEW + 1, MANY + 1))
    add_pages(large[-1:], range(FEW_OF_LAST + 1, MANY_OF_LAST + 1))
    for path, shown in SHOWN.items():
        text, read = look(path)
        assert shown in text
        assert read < 1.2 * few[path]
