"""Sections get a plan, and a new one where the stored one cannot be right any more."""

from __future__ import annotations

from django.db import transaction
from django.db.models import CharField, TextField

from django_sitemaps_plus.conf import Site
from django_sitemaps_plus.exceptions import StalePlanError
from django_sitemaps_plus.models import Section
from django_sitemaps_plus.registry import registry

from .plans import first_plan
from .reshape import active_plan, add_pages


def plan_section(name: str, site: Site) -> Section:
    """Return the row of a section; where it has no plan yet, make one and store it.

    Raises:
        SourceError: the source could not be read.
    """
    section = Section.objects.filter(site=site.name, name=name).first()
    if section is None or section.next_number == 1:
        ranges = first_plan(name, site).ranges
        with transaction.atomic():
            section, _ = Section.objects.get_or_create(site=site.name, name=name)
            # The update locks the row: two builders make one plan.
            mine = Section.objects.filter(pk=section.pk, next_number=1)
            if mine.update(plan_version=section.plan_version + 1):
                add_pages(section, ranges, announce=False)
        section.refresh_from_db()
    if section.missing_since is not None:
        Section.objects.filter(pk=section.pk).update(missing_since=None)
    return section


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
