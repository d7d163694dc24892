"""A 304: what it costs to say that nothing has changed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from django_sitemaps_plus.testing import temporary_registry
from tests.benchmarks.building import build_all, unbuild
from tests.benchmarks.harness import Subject, timed
from tests.benchmarks.sources import FullDeclaredSource
from tests.benchmarks.web import Web

_CONDITIONAL = "django.middleware.http.ConditionalGetMiddleware"
_CONTRIB = "/contrib/sitemap-products.xml"
_OURS = "/sitemap-products-1.xml"


@contextmanager
def setting(rows: int) -> Iterator[list[Subject]]:
    """Compare a published page with contrib's and ConditionalGetMiddleware."""
    web = Web(_CONDITIONAL)
    with temporary_registry() as sections:
        sections.register("products", FullDeclaredSource)
        unbuild()
        build_all(rows)
        yield [
            Subject(
                title="A 304 for a page of 50,000 entries",
                contenders=[
                    timed("contrib, ConditionalGetMiddleware", _again(web, _CONTRIB)),
                    timed("published page", _again(web, _OURS), times=200),
                ],
            )
        ]
        unbuild()


def _again(web: Web, path: str) -> Callable[[], object]:
    etag = web.get(path).headers["ETag"]
    return lambda: web.get(path, 304, if_none_match=etag)
