"""Memory that a build needs above what the process had before it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connection

from tests.benchmarks.harness import Contender, Subject


@contextmanager
def setting(rows: int) -> Iterator[list[Subject]]:
    """Compare builds of all and of a tenth of the rows with two requests of contrib."""
    if sys.platform != "linux":
        yield []
        return
    yield [
        Subject(
            title="Peak memory above that of the idle process",
            unit="MiB",
            rounds=3,
            warm_ups=0,
            note="Resident memory of a fresh process, by Linux's VmHWM, which is reset "
            "once everything is imported and the database connected. ru_maxrss would "
            "count the imports too.",
            contenders=[
                _contender(
                    "contrib, a page of 50,000", "/contrib/sitemap-products.xml"
                ),
                _contender(f"contrib, index of {rows:,}", "/contrib/sitemap.xml"),
                _contender(f"build of {rows // 10:,}", "build", rows // 10),
                _contender(f"build of {rows:,}", "build", rows),
            ],
        )
    ]


def _contender(name: str, action: str, rows: int = 0) -> Contender:
    def measure() -> float:
        done = subprocess.run(
            [sys.executable, "-m", "tests.benchmarks.peak", action, str(rows)],
            env={**os.environ, "BENCHMARK_DATABASE": connection.settings_dict["NAME"]},
            stdout=subprocess.PIPE,
            check=True,
        )
        return float(done.stdout)

    return Contender(name=name, measure=measure)
