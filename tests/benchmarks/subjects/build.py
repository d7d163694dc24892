"""A full build of all rows, beside icv and the plainest loop that writes the same."""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import partial

from django_sitemaps_plus.testing import temporary_source
from tests.benchmarks.building import bare_loop, build_all, unbuild
from tests.benchmarks.forms import WordsSource
from tests.benchmarks.harness import Contender, Subject, Target, timed
from tests.benchmarks.icv import IcvPlace, begin, build_icv
from tests.benchmarks.sources import DeclaredSource, FullDeclaredSource

_BESIDE_LOOP = {10_000: 1.6, 50_000: 1.5}
_PLACES_BESIDE_LOOP = 1.2
_BESIDE_ICV = 16
_PLACES_BESIDE_ICV = 12


def setting(rows: int) -> Iterator[Subject]:
    """Compare builds into an empty storage with a loop."""
    for limit in _BESIDE_LOOP:
        yield _beside_loop(rows, limit)
    yield _places_beside_loop(rows)
    unbuild()


def icv_setting(rows: int) -> Iterator[Subject]:
    """Compare them with icv, of which one build takes half a minute."""
    yield _beside_icv(rows, 10_000, rounds=3)
    yield _beside_icv(rows, 50_000, rounds=1)
    yield _places_beside_icv(rows)
    unbuild()


def _beside_loop(rows: int, limit: int) -> Subject:
    return Subject(
        title=f"A full build of {rows:,} rows, {limit:,} a page",
        note="The bare loop reads the same rows by a cursor, writes one f-string "
        "each, and uses the same compressor, storage and flushes.",
        contenders=[
            timed("bare loop", partial(bare_loop, rows, limit), before=_prepare),
            _build(rows, limit),
        ],
        targets=[Target("build", beside="bare loop", times=_BESIDE_LOOP[limit])],
    )


def _beside_icv(rows: int, limit: int, rounds: int) -> Subject:
    def prepare() -> None:
        begin(limit)
        os.sync()

    return Subject(
        title=f"A full build of {rows:,} rows beside icv, {limit:,} a page",
        note="django-icv-sitemaps 3.6.0, its periodic task called directly: the same "
        "columns, elements, page size and file system. It uses zlib, whatever is "
        "installed, so it is measured with isal in the place of zlib as well.",
        rounds=rounds,
        warm_ups=0,
        contenders=[
            timed("icv", partial(build_icv, rows, is_fast=False), before=prepare),
            timed("icv with isal", partial(build_icv, rows), before=prepare),
            _build(rows, limit),
        ],
        targets=[
            Target("build", beside=name, times=1 / _BESIDE_ICV)
            for name in ("icv", "icv with isal")
        ],
    )


class _PlaceSource(WordsSource):
    limit = DeclaredSource.limit


def _places_beside_loop(rows: int) -> Subject:
    limit = _PlaceSource.limit
    loop = partial(bare_loop, rows, limit, "name")
    return Subject(
        title=f"The same of {rows:,} names of places in five languages",
        contenders=[
            timed("bare loop", loop, before=_prepare),
            _build(rows, limit, _PlaceSource),
        ],
        targets=[Target("build", beside="bare loop", times=_PLACES_BESIDE_LOOP)],
    )


def _places_beside_icv(rows: int) -> Subject:
    def prepare() -> None:
        begin(_PlaceSource.limit, IcvPlace)
        os.sync()

    return Subject(
        title=f"The same of {rows:,} names of places in five languages",
        rounds=1,
        warm_ups=0,
        contenders=[
            timed("icv with isal", partial(build_icv, rows), before=prepare),
            _build(rows, _PlaceSource.limit, _PlaceSource),
        ],
        targets=[Target("build", beside="icv with isal", times=1 / _PLACES_BESIDE_ICV)],
    )


def _build(
    rows: int, limit: int, source: type[DeclaredSource] | None = None
) -> Contender:
    if source is None:
        source = DeclaredSource if limit == DeclaredSource.limit else FullDeclaredSource

    def build() -> None:
        with temporary_source("products", source):
            build_all(rows)

    return timed("build", build, before=_prepare)


def _prepare() -> None:
    unbuild()
    os.sync()  # what earlier turns wrote is not to be paid for in this one
