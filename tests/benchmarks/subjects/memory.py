"""Memory that a build needs above what the process had before it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator

from django.db import connection

from tests.benchmarks.harness import Contender, Subject, Target
from tests.benchmarks.rows import add_authors
from tests.support.testapp.models import Author

_MOST = 32  # MiB
_NOISE = 2  # MiB by which two runs of the same may differ


def setting(rows: int) -> Iterator[Subject]:
    """Compare all rows with a tenth of them; with SOAK=1 ten times as many too."""
    if sys.platform != "linux":
        return
    yield Subject(
        title="Peak memory above that of the idle process",
        unit="MiB",
        rounds=3,
        warm_ups=0,
        note="Resident memory of a fresh process, by Linux's VmHWM, which is reset "
        "once everything is imported and the database connected. ru_maxrss would "
        "count the imports too.",
        contenders=[
            contender("contrib, a page of 50,000", "/contrib/sitemap-products.xml"),
            contender(f"contrib, index of {rows:,}", "/contrib/sitemap.xml"),
            *_sizes("build", rows),
            *_sizes("places", rows),
            *_sizes("plan", rows),
        ],
        targets=[
            *_flat("build", rows),
            *_flat("places", rows),
            *_flat("plan", rows),
        ],
    )
    if "SOAK" in os.environ:
        add_authors(10 * rows)
        yield _soak(10 * rows)
        Author.objects.all()._raw_delete(connection.alias)


def _soak(rows: int) -> Subject:
    return Subject(
        title="The same of narrow rows",
        unit="MiB",
        rounds=2,
        warm_ups=0,
        contenders=_sizes("narrow", rows),
        targets=_flat("narrow", rows),
    )


def _sizes(action: str, rows: int) -> list[Contender]:
    return [
        contender(_name(action, number), action, number)
        for number in (rows // 10, rows)
    ]


def _flat(action: str, rows: int) -> list[Target]:
    """Return what is asked: little memory, and as much for a tenth of the rows."""
    name, tenth = _name(action, rows), _name(action, rows // 10)
    return [Target(name, plus=_MOST), Target(name, beside=tenth, plus=_NOISE)]


def _name(action: str, rows: int) -> str:
    return f"{action} of {rows:,}"


def contender(name: str, action: str, rows: int = 0) -> Contender:
    """Return one that does it in a fresh process, see `peak`."""

    def measure() -> float:
        done = subprocess.run(
            [sys.executable, "-m", "tests.benchmarks.peak", action, str(rows)],
            env={**os.environ, "BENCHMARK_DATABASE": connection.settings_dict["NAME"]},
            stdout=subprocess.PIPE,
            check=True,
        )
        return float(done.stdout)

    return Contender(name, measure)
