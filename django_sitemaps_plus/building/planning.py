"""Sections get a plan, and a new one where the stored one cannot be right any more."""

from __future__ import annotations

from datetime import datetime

from django.db import transaction
from django.db.models import CharField, F, TextField
from django.db.models.functions import Now

from django_sitemaps_plus.conf import Site
from django_sitemaps_plus.exceptions import StalePlanError
from django_sitemaps_plus.models import INDEX, Page, Section
from django_sitemaps_plus.registry import registry

from .plans import first_plan
from .reshape import active_plan, add_pages


def plan_section(name: str, site: Site) -> tuple[Section, datetime]:
    """Return the row of a section; where it has no plan yet, make one and store it.

    Returns:
        The row, and the time by the clock that claims are stamped with.

    Raises:
        SourceError: the source could not be read.
    """
    rows = Section.objects.filter(site=site.name, name=name).annotate(now=Now())
    section = rows.first()
    if section is None or section.next_number == 1:
        _make_plan(name, site)
        section = rows.get()
    if section.missing_since is not None:
        Section.objects.filter(pk=section.pk).update(missing_since=None)
        Page.objects.of(site.name, INDEX).update(wanted=F("wanted") + 1)
    return section, section.now


def _make_plan(name: str, site: Site) -> None:
    ranges = first_plan(name, site).ranges
    with transaction.atomic():
        section, _ = Section.objects.get_or_create(site=site.name, name=name)
        # The update locks the row: two builders make one plan.
        mine = Section.objects.filter(pk=section.pk, next_number=1)
        if mine.update(plan_version=F("plan_version") + 1):
            add_pages(section, ranges, announce=False)


def is_broken(section: Section) -> bool:
    """Return whether the stored plan does not fit its source any more.

    An upgrade may change how a collation sorts; a deploy may change the key's type.
    """
    space = registry.get(section.name).key_space()
    if space is None:
        return False
    try:
        bounds = [page.low for page in active_plan(section)[1:]]
        return not space.ascends([bound for bound in bounds if bound is not None])
    except (ValueError, StalePlanError):
        return True


def may_break(section: Section, *, was_deployed: bool) -> bool:
    """Return whether it is worth to ask :func:`is_broken`."""
    space = registry.get(section.name).key_space()
    if space is None:
        return False
    return was_deployed or isinstance(space.field, CharField | TextField)
