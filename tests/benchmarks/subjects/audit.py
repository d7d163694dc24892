"""An audit of all rows: each page is rendered and compared; nothing has changed."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from functools import partial

from django.conf import settings
from django.test.utils import override_settings
from django.utils import timezone

from django_sitemaps_plus.building.build import build
from django_sitemaps_plus.core.documents import render_urlset
from django_sitemaps_plus.core.key_ranges import KeyRange
from django_sitemaps_plus.models import Page
from django_sitemaps_plus.registry import registry
from django_sitemaps_plus.sites import get_site
from django_sitemaps_plus.sources import Tally, reader_of, surroundings
from tests.benchmarks.building import bare_rendering, build_all, built
from tests.benchmarks.harness import Subject, Target, timed

_UNHURRIED = {**settings.SITEMAPS_PLUS, "AUDIT_BUDGET_SECONDS": 3_600}


def setting(rows: int) -> Iterator[Subject]:
    """Compare the audit that a refresh makes with rendering the same pages."""
    with built(rows):
        yield Subject(
            title=f"An audit of {rows:,} rows",
            contenders=[
                timed("rendering alone", partial(_render, rows)),
                timed("rendering by a bare loop", partial(bare_rendering, rows)),
                timed("audit", audit, before=grow_old),
                timed("--full, nothing has changed", partial(build_all, rows)),
            ],
            targets=[Target("audit", beside="rendering alone", times=1.5)],
        )


def grow_old() -> None:
    """Let no page have been compared for long."""
    Page.objects.update(checked_at=timezone.now() - timedelta(days=30))


@override_settings(SITEMAPS_PLUS=_UNHURRIED)
def audit() -> None:
    """Compare all pages, none of which has changed."""
    (section,) = build().sections
    if (section.rendered, section.stored) != (section.pages, 0):
        raise RuntimeError(
            f"{section.rendered} pages compared, {section.stored} stored"
        )


def _render(rows: int) -> None:
    """Make the bytes of all pages, and throw them away."""
    site, tally = get_site(), Tally("products")
    reader = reader_of(registry.get("products"))
    pages = Page.objects.of(site.name, "products").values_list("low", "high")
    with surroundings(site):
        for bounds in pages:
            chunks = reader.chunks(KeyRange(*bounds), tally)
            for _ in render_urlset(chunks, reader.extensions):
                pass
    if tally.entries != rows:
        raise RuntimeError(f"{tally.entries:,} entries were rendered, not {rows:,}")
