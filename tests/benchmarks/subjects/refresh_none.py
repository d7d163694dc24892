"""A refresh that finds nothing to do."""

from __future__ import annotations

from collections.abc import Iterator

from django_sitemaps_plus.building.build import build
from tests.benchmarks.building import built
from tests.benchmarks.changing import listening
from tests.benchmarks.harness import Subject, Target, its_queries, timed
from tests.support.testapp.models import Product


def setting(rows: int) -> Iterator[Subject]:
    """Compare it with a query for one row, and count its own."""
    title = f"A refresh after no change in {rows:,} rows"
    with listening(), built(rows):
        build()
        yield Subject(
            title=title,
            rounds=11,
            contenders=[
                timed("one-row query", _one_row, times=200),
                timed("refresh", build, times=20),
            ],
            targets=[Target("refresh", beside="one-row query", times=20)],
        )
        yield its_queries(title, "refresh", build, most=10)


def _one_row() -> Product:
    return Product.objects.get(pk=25_000)
