"""Many builders on one PostgreSQL, whose rendering is a wait of the measured length.

As a program, ``python -m tests.benchmarks.scale.builders WAIT SECONDS`` is one of them:
it begins when it reads a line, and prints its pages, and the seconds of its processor.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from functools import partial
from typing import Any
from unittest import mock

import django

from tests.benchmarks.harness import Contender, Subject

# A builder that renders is in no transaction, so it is idle.
_SAMPLE = """
SELECT CASE
  WHEN wait_event_type IS NULL THEN 'the server works'
  WHEN wait_event_type = 'Client' THEN 'in a transaction, the builder works'
  ELSE 'waits: ' || wait_event_type || ' ' || wait_event
END
FROM pg_stat_activity
WHERE datname = current_database() AND pid <> pg_backend_pid() AND state <> 'idle'
"""

#: Seconds between two looks at the server.
_LOOK_SECONDS = 0.02

#: Rows of the page whose rendering is measured.
_ROWS = 10_000


def setting(n_pages: int, numbers: Sequence[int], seconds: float) -> Iterator[Subject]:
    """Let so many builders work, one number after another, at a first build."""
    from django_sitemaps_plus.testing import temporary_source
    from tests.benchmarks.building import unbuild
    from tests.benchmarks.rows import add_products
    from tests.benchmarks.sources import DeclaredSource, sized_source
    from tests.support.grown import grow

    from .pages import LIMIT, ROWS, link_objects, start

    add_products(_ROWS)
    with temporary_source("products", DeclaredSource()):
        wait = _rendering_seconds()
        unbuild()
    with temporary_source("products", sized_source(ROWS, LIMIT)):
        grow(start(), n_pages)
        link_objects()
        crowds = {number: _Crowd(number, wait, seconds) for number in numbers}
        once = partial(Subject, rounds=1, warm_ups=0)
        yield once(
            title="Pages a second that builders publish together",
            note=f"Each waits {wait * 1_000:.0f} ms in place of rendering a page, as "
            f"long as one of {_ROWS:,} entries took, and does all else as usual. There "
            f"are {n_pages:,} pages.",
            unit="pages/s",
            contenders=[Contender(str(it), crowd.rate) for it, crowd in crowds.items()],
        )
        yield once(
            title="Time of a builder's processor for a page",
            contenders=[
                Contender(str(it), lambda crowd=crowd: crowd.processor)
                for it, crowd in crowds.items()
            ],
        )
        for number, crowd in crowds.items():
            yield once(
                title=f"Seconds in a second in the database, {number} builders",
                contenders=[
                    Contender(state, lambda share=share: share)
                    for state, share in crowd.states()
                ],
            )


def _rendering_seconds() -> float:
    from django_sitemaps_plus.building.store import build_page
    from django_sitemaps_plus.models import Page
    from django_sitemaps_plus.section import open_section
    from django_sitemaps_plus.storage import deferred_flush
    from tests.support.builds import build_and_relay

    build_and_relay()
    page = Page.objects.of("default", "products").select_related("section").get()
    page.plain_hash, section = "", open_section("products")  # so that it is stored

    def taken() -> float:
        began = time.perf_counter()
        with section.reading(), deferred_flush():
            build_page(page, section)
        return time.perf_counter() - began

    return min([taken() for _ in range(9)])


class _Crowd:
    """So many builders, and what was seen of them."""

    def __init__(self, number: int, wait: float, seconds: float) -> None:
        self.number = number
        self.seconds = seconds
        self.processor = 0.0  # seconds a page
        self._words = [sys.executable, "-m", __name__, str(wait), str(seconds)]
        self._seen: Counter[str] = Counter()
        self._looks = 0

    def rate(self) -> float:
        """Let them build, and return how many pages they have published a second."""
        from django.db import connection

        _make_dirty()
        name = connection.settings_dict["NAME"]
        environment = {**os.environ, "BENCHMARK_DATABASE": name}
        with ExitStack() as stack:
            pipe: Any = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
            pipe |= {"text": True, "env": environment}
            builders: list[Any] = [
                stack.enter_context(subprocess.Popen(self._words, **pipe))
                for _ in range(self.number)
            ]
            for builder in builders:
                builder.stdout.readline()
            for builder in builders:
                print(file=builder.stdin, flush=True)
            self._watch()
            done = [builder.stdout.read().split() for builder in builders]
        n_pages = sum([int(pages) for pages, _ in done])
        self.processor = sum([float(used) for _, used in done]) / n_pages
        return n_pages / self.seconds

    def _watch(self) -> None:
        from django.db import connection

        end = time.monotonic() + self.seconds
        with connection.cursor() as cursor:
            while time.monotonic() < end:
                cursor.execute(_SAMPLE)
                self._seen.update([state for (state,) in cursor.fetchall()])
                self._looks += 1
                time.sleep(_LOOK_SECONDS)

    def states(self) -> Iterator[tuple[str, float]]:
        """Yield what they did, with the seconds in a second, the longest first."""
        for state, seen in self._seen.most_common(8):
            yield state, seen / self._looks


def _make_dirty() -> None:
    from django.db.models import F

    from django_sitemaps_plus.models import Page
    from django_sitemaps_plus.models.claims import UNTRIED
    from tests.benchmarks.rows import analyze

    pages = Page.objects.filter(section__name="products")
    free = {"token": "", "claimed_at": None, **UNTRIED}
    pages.update(wanted=F("built") + 1, **free)
    analyze()


def main(wait: float, seconds: float) -> None:
    """Build pages without rendering them, for some seconds."""
    os.environ["DJANGO_SETTINGS_MODULE"] = "tests.benchmarks.settings"
    django.setup()
    from django_sitemaps_plus import registry
    from django_sitemaps_plus.building import worker
    from django_sitemaps_plus.building.state import Build
    from django_sitemaps_plus.models import Section
    from django_sitemaps_plus.sites import get_site
    from tests.benchmarks.sources import sized_source
    from tests.support.grown import as_built

    from .pages import LIMIT, ROWS

    def build_page(page: Any, section: Any) -> Any:
        time.sleep(wait)
        return as_built(page).new

    registry.register("products", sized_source(ROWS, LIMIT))
    section = Section.objects.get(name="products")
    print("ready", flush=True)
    sys.stdin.readline()
    used = time.process_time()
    build = Build(names=["products"], site=get_site(), seconds=seconds, waits=False)
    with mock.patch.object(worker, "build_page", build_page):
        worker.build_dirty_pages(build, [section.pk])
    print(build.report("products").rendered, time.process_time() - used)


if __name__ == "__main__":
    main(*map(float, sys.argv[1:]))
