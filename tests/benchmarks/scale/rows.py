"""A table of very many rows: built, edited, crawled, deployed, audited and thinned."""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from django.db import connection
from django.db.models import F
from django.utils import timezone

from django_sitemaps_plus.building.build import build
from django_sitemaps_plus.models import Page, Section
from django_sitemaps_plus.testing import temporary_source
from tests.benchmarks.building import build_all, helped, unbuild
from tests.benchmarks.changing import edit
from tests.benchmarks.harness import Contender, Subject, timed
from tests.benchmarks.rows import analyze
from tests.benchmarks.size import sizes
from tests.benchmarks.sources import DeclaredSource, sized_source
from tests.benchmarks.subjects.audit import audit, grow_old
from tests.benchmarks.subjects.memory import contender
from tests.benchmarks.web import Web
from tests.support.builds import build_and_relay
from tests.support.testapp.models import Product

_LIMIT = DeclaredSource.limit

#: Every such row is deleted, all over the table.
_DELETED = 100

_MOMENTS = {
    "postgresql": "TIMESTAMPTZ '2024-01-01 00:00+00' + n * INTERVAL '6 seconds'",
    "sqlite": "datetime('2024-01-01', (n * 6) || ' seconds')",
}

_once = partial(Subject, rounds=1, warm_ups=0)
_refresh = partial(build_and_relay, waits=False)


def setting(rows: int) -> Iterator[Subject]:
    """Have the database make the rows, and leave them thinned."""
    _add(rows)
    chance = random.Random(1)
    with (
        helped(rows, _LIMIT),
        temporary_source("products", source := sized_source(rows, _LIMIT)),
    ):
        yield from _building(rows)
        yield from _editing(rows, chance)
        yield _crawling()
        source.changefreq = "weekly"
    with temporary_source("products", source):
        yield _once(
            title=f"Everything of {rows:,} rows rendered anew by one process",
            contenders=[
                timed("after a deploy", build),
                timed("audit, nothing has changed", audit, before=grow_old),
            ],
        )
        Section.objects.update(new_since=None)  # it is not to be compared once more
        yield from _thinning(rows, chance)
    unbuild()


def _add(rows: int) -> None:
    table, moment = Product._meta.db_table, _MOMENTS[connection.vendor]
    with connection.cursor() as cursor:
        cursor.execute(
            "WITH RECURSIVE numbers(n) AS "  # noqa: S608
            f"(SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < {rows}) "
            f"INSERT INTO {table} (id, name, slug, updated_at, published, frequency) "
            f"SELECT n, 'Product ' || n, n || '-folding-walnut-table', {moment}, "
            "true, '' FROM numbers"
        )
        if connection.vendor == "sqlite":  # else all readers search a log of gigabytes
            cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    analyze()


def _building(rows: int) -> Iterator[Subject]:
    queries = 0

    def count(execute: Callable[..., Any], *arguments: Any) -> Any:
        nonlocal queries
        queries += 1
        return execute(*arguments)

    def build_counted() -> None:
        with connection.execute_wrapper(count):
            build_all(rows)

    def prepare() -> None:
        unbuild()
        os.sync()

    yield _once(
        title="Peak memory above that of the idle process",
        unit="MiB",
        contenders=[contender(f"build of {rows:,} rows", "build", rows)],
    )
    yield _once(
        title=f"A first build of {rows:,} rows, {_LIMIT:,} a page",
        contenders=[
            timed("two processes", partial(build_all, rows, 2), before=prepare),
            timed("one process", build_counted, before=prepare),
        ],
    )
    yield _once(
        title="Queries of one process in that build",
        unit="queries",
        contenders=[Contender("one process", lambda: queries)],
    )
    analyze()
    yield _once(
        title="What that takes on disk",
        unit="bytes",
        contenders=[
            Contender(f"{name}, {number:,}", partial(float, size))
            for name, number, size in sizes(Product)
            if number
        ],
    )


def _editing(rows: int, chance: random.Random) -> Iterator[Subject]:
    def edit_any() -> None:
        edit(chance.randint(1, rows))

    yield Subject(
        title=f"An edit among {rows:,} rows",
        contenders=[
            timed("save", edit_any),
            timed("build of its page and the index", _refresh, before=edit_any),
            timed("build with nothing to do", _refresh),
        ],
    )


def _crawling() -> Subject:
    web = Web()
    pages = Page.objects.of("default", "products").order_by("number")
    numbers = pages.values_list("number", flat=True)
    paths = ["/sitemap.xml", *[f"/sitemap-products-{it}.xml" for it in numbers]]
    etags = dict[str, str]()

    def crawl() -> None:
        for path in paths:
            known = {"if_none_match": etags[path]} if path in etags else {}
            status = 304 if known else 200
            answer = web.get(path, status, accept_encoding="gzip", **known)
            etags[path] = answer.headers["ETag"]

    return _once(
        title=f"A crawl of the index and its {len(paths) - 1:,} pages",
        contenders=[
            timed("the first time", crawl),
            timed("again, with their ETags", crawl),
        ],
    )


def _thinning(rows: int, chance: random.Random) -> Iterator[Subject]:
    left_over = Product.objects.alias(place=F("pk") % _DELETED).filter(place=7)

    holes = iter(chance.sample(range(rows // _DELETED), 6))

    def insert() -> None:
        key = next(holes) * _DELETED + 7
        Product.objects.create(pk=key, slug=f"back-{key}", updated_at=timezone.now())

    yield _once(
        title=f"One of {_DELETED} of {rows:,} rows deleted, on each page",
        contenders=[
            timed("QuerySet.delete()", left_over.delete),
            timed("build that follows", _refresh),
        ],
    )
    yield Subject(
        title="A row inserted at a random key",
        contenders=[timed("build of its page and the index", _refresh, before=insert)],
    )
