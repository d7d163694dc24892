"""A thousand pages that have changed, built by Celery workers and without Celery."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator

from django.utils import timezone

from django_sitemaps_plus.building.build import build
from django_sitemaps_plus.building.pool import Helpers
from django_sitemaps_plus.models import Page
from tests.benchmarks.building import built, helped
from tests.benchmarks.changing import edit_each_page
from tests.benchmarks.crew import start_crew
from tests.benchmarks.harness import Subject, Target, timed
from tests.benchmarks.sources import sized_source
from tests.support.servers.valkey import start_valkey

_PAGES = 1_000
_MOST_ROWS = 100_000


def setting(rows: int) -> Iterator[Subject]:
    """Compare two workers with two local processes."""
    size = min(rows, _MOST_ROWS) // _PAGES
    rows = size * _PAGES
    with (
        built(rows, sized_source(rows, size)),
        helped(rows, size),
        start_valkey() as server,
        start_crew(server.url, 2, rows, size) as crew,
    ):

        def change() -> None:
            crew.rest()
            edit_each_page(size, _PAGES)
            os.sync()

        yield Subject(
            title=f"{_PAGES:,} dirty pages of {size} entries",
            note="By two Celery workers over Valkey, from the message to the "
            "published index; and by a refresh with two local processes.",
            rounds=9,
            warm_ups=2,
            contenders=[
                timed("two processes", _checked(_refresh), before=change),
                timed("two workers", _checked(crew.build), before=change),
            ],
            targets=[Target("two workers", beside="two processes", times=1.1)],
        )
        crew.rest()


def _refresh() -> None:
    with Helpers(1) as helpers:
        build(helpers=helpers)


def _checked(build: Callable[[], None]) -> Callable[[], None]:
    """Return a build that fails unless it stores each page."""

    def checked() -> None:
        began = timezone.now()
        build()
        stored = Page.objects.filter(section__name="products", published_at__gt=began)
        if (n_pages := stored.count()) != _PAGES:
            raise RuntimeError(f"{n_pages:,} pages were stored, not {_PAGES:,}")

    return checked
