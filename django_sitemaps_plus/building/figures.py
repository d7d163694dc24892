"""Figures of builds, which the page of a section shows."""

from __future__ import annotations

import logging

from django.db import Error

from django_sitemaps_plus.conf import Site
from django_sitemaps_plus.models import Figure

from .report import SectionReport

logger = logging.getLogger(__name__)


def record(site: Site, report: SectionReport, *, is_help: bool) -> None:
    """Record what a build did to a section; one that helps another is none itself."""
    kind = Figure.Kind
    added: dict[tuple[Figure.Kind, int], float] = {
        (kind.ENTRIES, 0): report.entries,
        (kind.PAGES, 0): report.rendered,
        (kind.SECONDS, 0): report.seconds,
    }
    if not is_help:
        added[kind.BUILDS, 0] = 1
    try:
        Figure.objects.add(site.name, report.section, added)
    except Error as error:  # the build has published, and that counts
        logger.warning("The figures of %s are lost: %s", report.section, error)
