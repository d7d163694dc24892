"""A refresh after one change: noticed, rendered, stored, told to who listens."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

from django_sitemaps_plus.core.key_ranges import KeyRange
from django_sitemaps_plus.models import Page
from django_sitemaps_plus.rendering import render_page
from django_sitemaps_plus.section import open_section
from django_sitemaps_plus.sites import get_site
from django_sitemaps_plus.storage import store_object
from tests.benchmarks.building import bare_rows, built, store_bare
from tests.benchmarks.changing import edit, listening, refresh_one
from tests.benchmarks.harness import Contender, Subject, Target, timed
from tests.benchmarks.icv import begin, build_icv, note_save
from tests.benchmarks.sources import DeclaredSource

_NUMBER = 3  # of the page that changes
_KEY = 25_000


def setting(rows: int) -> Iterator[Subject]:
    """Compare it with one page by hand."""
    with _refresh(rows) as ours:
        yield Subject(
            title=f"A refresh after one change in {rows:,} rows",
            note="Warm, and somebody listens to which URLs have changed. One page "
            "is read, rendered, compressed and stored, and no more.",
            rounds=21,
            warm_ups=2,
            contenders=[
                timed("one page", _store_page),
                timed("one page, bare loop", _store_bare),
                ours,
            ],
            targets=[Target("refresh", beside="one page", times=2, plus=0.010)],
        )


def icv_setting(rows: int) -> Iterator[Subject]:
    """Compare it with what icv does, whose first build is like each that follows."""

    def change_both() -> None:
        edit(_KEY)
        note_save()

    with _refresh(rows) as ours:
        begin(DeclaredSource.limit)
        yield Subject(
            title=f"A refresh after one change in {rows:,} rows, beside icv",
            note="icv's receiver marks the section, and its periodic task does the "
            "rest; with isal.",
            rounds=1,
            warm_ups=0,
            contenders=[
                timed("icv", partial(build_icv, rows), before=change_both),
                ours,
            ],
            targets=[Target("refresh", beside="icv", times=1 / 200)],
        )


@contextmanager
def _refresh(rows: int) -> Iterator[Contender]:
    with listening() as heard, built(rows):
        change, refresh = partial(edit, _KEY), partial(refresh_one, heard)
        change()
        refresh()  # so that it is warm
        yield timed("refresh", refresh, before=change)


def _store_page() -> None:
    site = get_site()
    page = Page.objects.of(site.name, "products").get(number=_NUMBER)
    bounds = KeyRange(page.low, page.high)
    document = render_page(open_section("products", site), bounds).document
    assert document is not None
    store_object("bare", _NUMBER, document)


def _store_bare() -> None:
    limit = DeclaredSource.limit
    store_bare(_NUMBER, bare_rows((_NUMBER - 1) * limit, limit))
