"""A 304: what it costs to say that nothing has changed."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from tests.benchmarks.building import built
from tests.benchmarks.harness import Subject, Target, timed
from tests.benchmarks.sources import FullDeclaredSource
from tests.benchmarks.web import Web

_CONDITIONAL = "django.middleware.http.ConditionalGetMiddleware"
_CONTRIB = "/contrib/sitemap-products.xml"
_OURS = "/sitemap-products-1.xml"


def setting(rows: int) -> Iterator[Subject]:
    """Compare a published page with contrib's and ConditionalGetMiddleware."""
    web, bare = Web(_CONDITIONAL), Web()
    with built(rows, FullDeclaredSource):
        yield Subject(
            title="A 304 for a page of 50,000 entries",
            contenders=[
                timed("contrib, ConditionalGetMiddleware", _again(web, _CONTRIB)),
                timed("published page", _again(web, _OURS), times=200),
            ],
        )
        yield Subject(
            title="A 304 beside a trivial view",
            note="The view gets one object by its primary key and answers with its "
            "name. No middleware.",
            rounds=11,
            contenders=[
                timed("a view with one query", _trivial(bare), times=500),
                timed("published page", _again(bare, _OURS), times=500),
            ],
            targets=[
                Target("published page", beside="a view with one query", times=1.3)
            ],
        )


def _trivial(web: Web) -> Callable[[], object]:
    return lambda: web.get("/trivial/")


def _again(web: Web, path: str) -> Callable[[], object]:
    etag = web.get(path).headers["ETag"]
    return lambda: web.get(path, 304, if_none_match=etag)
