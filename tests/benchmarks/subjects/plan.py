"""The first plan: where to cut all rows into pages."""

from __future__ import annotations

from collections.abc import Iterator

from django.db import connection

from django_sitemaps_plus.planning import first_plan
from django_sitemaps_plus.section import open_section
from django_sitemaps_plus.sources import ModelSource
from django_sitemaps_plus.testing import temporary_registry
from tests.benchmarks.harness import Subject, Target, timed
from tests.benchmarks.sources import DeclaredSource, ProductSitemap
from tests.support.testapp.models import Product

_SECONDS_A_ROW = 0.2 / 1_000_000
_TABLE = Product._meta.db_table


def setting(rows: int) -> Iterator[Subject]:
    """Compare hops along the key index with numbering all rows in one query."""
    with temporary_registry() as sections:
        sections.register("products", DeclaredSource)
        yield Subject(
            title=f"The first plan of {rows:,} rows, 10,000 a page",
            note="contrib plans nothing: it counts rows to number its pages, and "
            "each page skips those before it.",
            contenders=[
                timed("one window query", _number_rows),
                timed("contrib, count of pages", _count_pages),
                timed("plan", lambda: first_plan(open_section("products"))),
            ],
            targets=[Target("plan", plus=_SECONDS_A_ROW * rows)],
        )


def _number_rows() -> list[tuple[int]]:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT id FROM (SELECT id, row_number() OVER (ORDER BY id) AS n "  # noqa: S608
            f"FROM {_TABLE}) numbered WHERE n %% %s = 1 ORDER BY id",
            [ModelSource.limit],
        )
        return cursor.fetchall()


def _count_pages() -> int:
    return ProductSitemap().paginator.num_pages
