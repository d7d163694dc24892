"""A refresh that finds nothing to do."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connection
from django.test.utils import CaptureQueriesContext

from django_sitemaps_plus.building.build import build
from django_sitemaps_plus.testing import temporary_source
from tests.benchmarks.building import build_all, unbuild
from tests.benchmarks.changing import listening
from tests.benchmarks.harness import Contender, Subject, Target, timed
from tests.benchmarks.sources import DeclaredSource
from tests.support.testapp.models import Product


@contextmanager
def setting(rows: int) -> Iterator[list[Subject]]:
    """Compare it with a query for one row, and count its own."""
    title = f"A refresh after no change in {rows:,} rows"
    with temporary_source("products", DeclaredSource), listening():
        unbuild()
        build_all(rows)
        build()
        yield [
            Subject(
                title=title,
                rounds=11,
                contenders=[
                    timed("one-row query", _one_row, times=200),
                    timed("refresh", build, times=20),
                ],
                targets=[Target(name="refresh", beside="one-row query", times=20)],
            ),
            Subject(
                title=f"{title}, its queries",
                unit="queries",
                rounds=1,
                contenders=[Contender(name="refresh", measure=_queries)],
                targets=[Target(name="refresh", plus=10)],
            ),
        ]
        unbuild()


def _one_row() -> Product:
    return Product.objects.get(pk=25_000)


def _queries() -> float:
    with CaptureQueriesContext(connection) as queries:
        build()
    return len(queries)
