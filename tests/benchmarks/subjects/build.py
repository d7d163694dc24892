"""A full build of all rows, beside the plainest loop that writes the same files."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

from django_sitemaps_plus.testing import temporary_registry
from tests.benchmarks.building import bare_loop, build_all, unbuild
from tests.benchmarks.harness import Subject, timed
from tests.benchmarks.sources import DeclaredSource


@contextmanager
def setting(rows: int) -> Iterator[list[Subject]]:
    """Compare builds into an empty storage, and one that finds nothing changed."""

    def prepare() -> None:
        unbuild()
        os.sync()  # what earlier turns wrote is not to be paid for in this one

    def prepare_built() -> None:
        prepare()
        build_all(rows)
        os.sync()

    with temporary_registry() as sections:
        sections.register("products", DeclaredSource)
        yield [
            Subject(
                title=f"A full build of {rows:,} rows, 10,000 a page",
                rounds=5,
                note="The bare loop reads the same rows by a cursor, writes one "
                "f-string each, and uses the same compressor and storage.",
                contenders=[
                    timed("bare loop", lambda: bare_loop(rows), before=prepare),
                    timed("build", lambda: build_all(rows), before=prepare),
                    timed(
                        "build, 2 workers",
                        lambda: build_all(rows, workers=2),
                        before=prepare,
                    ),
                    timed(
                        "build, nothing has changed",
                        lambda: build_all(rows),
                        before=prepare_built,
                    ),
                ],
            )
        ]
        unbuild()
