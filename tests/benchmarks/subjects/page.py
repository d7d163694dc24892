"""One page of 50,000 entries, rendered and through the view."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from django_sitemaps_plus.core.documents import render_urlset
from django_sitemaps_plus.registry import registry
from django_sitemaps_plus.section import open_section
from django_sitemaps_plus.serving.live import live_plan
from django_sitemaps_plus.sites import get_site
from django_sitemaps_plus.sources import Tally, reader_of, surroundings
from django_sitemaps_plus.testing import temporary_registry
from tests.benchmarks.harness import Subject, timed
from tests.benchmarks.sources import FullDeclaredSource, FullMethodSource
from tests.benchmarks.web import Web

_LOC = re.compile(rb"<loc>([^<]*)</loc>")
_GZIP = "django.middleware.gzip.GZipMiddleware"
_CONTRIB = "/contrib/sitemap-products.xml"
_DECLARED = "/sitemap-declared-1.xml"
_METHOD = "/sitemap-method-1.xml"


def setting(rows: int) -> Iterator[Subject]:
    """Compare the first page, which both render from the rows."""
    web, zipped = Web(), Web(_GZIP)
    with temporary_registry() as sections:
        sections.register("declared", FullDeclaredSource)
        sections.register("method", FullMethodSource)
        _must_list_the_same(web)
        yield Subject(
            title="One page of 50,000 entries, from rows to XML",
            contenders=[
                timed("contrib, its view", lambda: web.get(_CONTRIB)),
                timed("declared source", _rendered("declared")),
                timed("source with a method", _rendered("method")),
            ],
        )
        yield Subject(
            title="The same through the views, to a client that takes gzip",
            note="The live view of a section that is not built; its plan is cached."
            " contrib with GZipMiddleware.",
            contenders=[
                timed("contrib", _fetched(zipped, _CONTRIB, "gzip")),
                timed("declared source", _fetched(zipped, _DECLARED, "gzip")),
                timed("source with a method", _fetched(zipped, _METHOD, "gzip")),
            ],
        )
        yield Subject(
            title="The same, to a client that does not",
            contenders=[
                timed("contrib", _fetched(web, _CONTRIB, "")),
                timed("declared source", _fetched(web, _DECLARED, "")),
                timed("source with a method", _fetched(web, _METHOD, "")),
            ],
        )


def _rendered(section: str) -> Callable[[], bytes]:
    def render() -> bytes:
        site = get_site()
        plan = live_plan(open_section(section, site))
        assert plan is not None
        reader = reader_of(registry.get(section))
        with surroundings(site):
            chunks = reader.chunks(plan.ranges[0], Tally(section))
            return b"".join(render_urlset(chunks, reader.extensions))

    return render


def _fetched(web: Web, path: str, coding: str) -> Callable[[], object]:
    return lambda: web.get(path, accept_encoding=coding)


def _must_list_the_same(web: Web) -> None:
    expected = _LOC.findall(web.get(_CONTRIB).body)
    for path in (_DECLARED, _METHOD):
        if _LOC.findall(web.get(path).body) != expected:
            raise RuntimeError(f"{path} does not list what contrib lists")
