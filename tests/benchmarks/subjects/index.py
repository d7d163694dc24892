"""The index of all rows: planned on request, with a cached plan, and published."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from django.core.cache import cache

from tests.benchmarks.building import built, hide, show
from tests.benchmarks.harness import Subject, timed
from tests.benchmarks.web import Web


def setting(rows: int) -> Iterator[Subject]:
    """Compare the indexes as each has them from its defaults."""
    web = Web()

    def fetch(path: str = "/sitemap.xml") -> Callable[[], object]:
        return lambda: web.get(path)

    def forget_plan() -> None:
        hide()
        cache.clear()

    def remember_plan() -> None:
        hide()
        web.get("/sitemap.xml")

    with built(rows):
        yield Subject(
            title=f"The index of {rows:,} rows",
            rounds=3,
            note="Ours names pages of 10,000, contrib's pages of 50,000.",
            contenders=[
                timed("contrib, lastmod a method", fetch("/contrib/sitemap.xml")),
                timed("contrib, GenericSitemap", fetch("/generic/sitemap.xml")),
                timed("live, plan made for it", fetch(), before=forget_plan),
                timed(
                    "live, plan in the cache", fetch(), before=remember_plan, times=50
                ),
                timed("published", fetch(), before=show, times=50),
            ],
        )
