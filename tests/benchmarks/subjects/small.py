"""Many small sections in a live index, and many small pages in a build."""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import partial

from django.core.cache import cache

from django_sitemaps_plus.testing import temporary_registry, temporary_source
from tests.benchmarks.building import bare_loop, build_all, unbuild
from tests.benchmarks.harness import Contender, Subject, Target, its_queries, timed
from tests.benchmarks.sources import SMALL_SITEMAPS, sized_source, small_source
from tests.benchmarks.web import Web

_ROWS, _ENTRIES = 100_000, 60
_USUAL = 10_000


def setting(rows: int) -> Iterator[Subject]:
    """Compare with contrib, and with the same rows on pages of the usual size."""
    unbuild()
    with temporary_registry() as registry:
        for number in range(len(SMALL_SITEMAPS)):
            registry.register(f"small-{number}", small_source(number))
        yield from _index(Web())
    yield _build(min(rows, _ROWS))
    unbuild()


def _index(web: Web) -> Iterator[Subject]:
    theirs = partial(web.get, "/contrib/small.xml")
    ours = partial(web.get, "/sitemap.xml")
    n_listed = [fetch().body.count(b"<lastmod>") for fetch in (theirs, ours)]
    if n_listed != [len(SMALL_SITEMAPS)] * 2:
        raise RuntimeError(f"{n_listed} sections with a lastmod are listed")
    title = f"The index of {len(SMALL_SITEMAPS)} small sections, nothing cached"
    yield Subject(
        title=title,
        rounds=31,
        contenders=[
            timed("contrib, GenericSitemap", theirs),
            timed("live", ours, before=cache.clear),
        ],
        targets=[Target("live", beside="contrib, GenericSitemap", times=1.3)],
    )

    def uncached() -> None:
        cache.clear()
        ours()

    yield its_queries(title, "live", uncached, most=120)


def _build(rows: int) -> Subject:
    return Subject(
        title=f"A full build of {rows:,} rows, {_ENTRIES} a page",
        note="The bare loop writes as many files.",
        rounds=1,
        warm_ups=0,
        contenders=[
            timed("bare loop", partial(bare_loop, rows, _ENTRIES), before=_prepare),
            _built(rows, _USUAL),
            _built(rows, _ENTRIES),
        ],
    )


def _built(rows: int, limit: int) -> Contender:
    def build() -> None:
        with temporary_source("products", sized_source(rows, limit)):
            build_all(rows)

    return timed(f"{limit:,} a page", build, before=_prepare)


def _prepare() -> None:
    unbuild()
    os.sync()
