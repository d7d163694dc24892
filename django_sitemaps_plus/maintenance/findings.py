"""Findings: what the last audit found of a site's own pages, kept with its index."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.utils import timezone

from django_sitemaps_plus.conf import Site
from django_sitemaps_plus.models import INDEX, Section
from django_sitemaps_plus.sources.lines import printable

#: Problems that are kept of an audit, and characters of their words.
MAX_KEPT, MAX_WORDS = 200, 1_000


def keep_findings(site: Site, report: Mapping[str, Any]) -> None:
    """Keep the report of an audit in the place of the last one."""
    problems = [_shortened(problem) for problem in report["problems"][:MAX_KEPT]]
    # Without an origin: the next build says to which one this database belongs.
    row, _ = Section.objects.get_or_create(
        site=site.name, name=INDEX, defaults={"next_number": 0}
    )
    at = timezone.now().isoformat()
    findings = {"at": at, **report, "problems": problems}
    Section.objects.filter(pk=row.pk).update(findings=findings)


def read_findings(site: Site) -> dict[str, Any] | None:
    """Return the report of the last audit, and when it was; None before the first."""
    rows = Section.objects.filter(site=site.name, name=INDEX)
    return rows.values_list("findings", flat=True).first()


def _shortened(problem: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: printable(value)[:MAX_WORDS] if isinstance(value, str) else value
        for name, value in problem.items()
    }
