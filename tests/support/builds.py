"""A build of everything, as ``build_sitemaps --full`` does it."""

from __future__ import annotations

from collections.abc import Iterable

from django_sitemaps_plus.building.build import refresh
from django_sitemaps_plus.building.dry_run import dry_run as render_only
from django_sitemaps_plus.building.options import Options, Progress
from django_sitemaps_plus.building.report import BuildReport
from django_sitemaps_plus.notifications.url_changes import relay


def build(
    names: Iterable[str] = (),
    *,
    workers: int = 1,
    dry_run: bool = False,
    progress: Progress | None = None,
    allow_shrink: bool = False,
) -> BuildReport:
    """Render every page, and publish what has changed."""
    if dry_run:
        return render_only(names)
    options = Options(
        full=True, workers=workers, progress=progress, allow_shrink=allow_shrink
    )
    return build_and_relay(names, options)


def build_and_relay(
    names: Iterable[str] = (), options: Options | None = None
) -> BuildReport:
    """Build what has changed and relay it, as ``build_sitemaps`` does."""
    report = refresh(names, options)
    relay()
    return report
