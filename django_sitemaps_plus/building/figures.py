"""Figures of builds, which the page of a section shows."""

from __future__ import annotations

import logging

from django.db import Error

from django_sitemaps_plus.conf import Site
from django_sitemaps_plus.models import Figure

from .report import SectionReport

logger = logging.getLogger(__name__)


def record(site: Site, report: SectionReport) -> None:
    """Record what a build did to a section."""
    kind = Figure.Kind
    added = {kind.ENTRIES: report.entries, kind.PAGES: report.rendered}
    try:
        Figure.objects.add(site.name, report.section, added)
    except Error as error:  # the build has published, and that counts
        logger.warning("The figures of %s are lost: %s", report.section, error)
