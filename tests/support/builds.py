"""A build of everything, as ``build_sitemaps --full`` does it."""

from collections.abc import Iterable
from typing import Any

from django.db.models import F

from django_sitemaps_plus.building.build import build
from django_sitemaps_plus.building.build import dry_run as render_only
from django_sitemaps_plus.building.report import BuildReport
from django_sitemaps_plus.conf import get_settings
from django_sitemaps_plus.models import Page, Section
from django_sitemaps_plus.models.clock import Now
from django_sitemaps_plus.notifications.url_changes import relay


def build_fully(
    names: Iterable[str] = (), *, dry_run: bool = False, **options: Any
) -> BuildReport:
    """Render every page, and publish what has changed."""
    if dry_run:
        return render_only(names)
    return build_and_relay(names, full=True, **options)


def build_and_relay(names: Iterable[str] = (), **options: Any) -> BuildReport:
    """Build what has changed and relay it, as ``build_sitemaps`` does."""
    report = build(names, **options)
    relay()
    return report


def pass_pauses() -> None:
    """Let the time come at which pages that failed are tried again."""
    Page.objects.exclude(not_before=None).update(not_before=Now())


def pass_grace() -> None:
    """Let everything have been planned, deployed and built before the grace."""
    grace = get_settings().deploy_time
    Section.objects.update(new_since=F("new_since") - grace)
    Page.objects.update(checked_at=F("checked_at") - grace)
