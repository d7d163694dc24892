"""A full build by two local processes beside one, and what two processes can do."""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import partial

from django_sitemaps_plus import ModelSource
from django_sitemaps_plus.testing import temporary_source
from tests.benchmarks import cores
from tests.benchmarks.building import build_all, helped, unbuild
from tests.benchmarks.harness import Subject, Target, timed
from tests.benchmarks.sources import sized_source


def setting(rows: int) -> Iterator[Subject]:
    """Compare them in the same rounds."""
    source = sized_source(rows, ModelSource.limit)
    with helped(rows, source.limit), temporary_source("products", source):
        yield Subject(
            title=f"A full build of {rows:,} rows by two local processes",
            note=cores.NOTE,
            contenders=[
                timed("one process", partial(build_all, rows), before=_prepare),
                timed(
                    "two processes",
                    partial(build_all, rows, workers=2),
                    before=_prepare,
                ),
                *cores.contenders(),
            ],
            targets=[
                Target(
                    "two processes",
                    beside="one process",
                    times=1 / 1.6,
                    given=cores.GIVEN,
                )
            ],
        )
    unbuild()


def _prepare() -> None:
    unbuild()
    os.sync()
