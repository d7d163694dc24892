"""Replanning: make the plan of a section, and replace one that no longer fits.

A new plan is built beside the one that is served, and takes its place as a whole.
"""

from __future__ import annotations

import logging
from datetime import datetime

from django.db.models import CharField, F, TextField, UUIDField
from django.utils import timezone

from django_sitemaps_plus.building.flip import (
    publish,
    send_page_built,
    take_new_changes,
)
from django_sitemaps_plus.building.guard import forget_peak, plan_reason
from django_sitemaps_plus.conf import Site
from django_sitemaps_plus.core.key_ranges import KeyRange, chain, in_plan_order
from django_sitemaps_plus.exceptions import StalePlanError
from django_sitemaps_plus.models import INDEX, Page, Section, State
from django_sitemaps_plus.models.transactions import atomic, retried
from django_sitemaps_plus.planning import first_plan
from django_sitemaps_plus.publishing.sync import show_when_committed
from django_sitemaps_plus.registry import registry
from django_sitemaps_plus.rendering import reading
from django_sitemaps_plus.sources import reader_of
from django_sitemaps_plus.tracking.deploys import (
    fingerprint,
    has_other_keys,
    note_deploy,
)

from .numbering import add_pages, raise_plan_version

logger = logging.getLogger(__name__)


def plan_section(name: str, site: Site) -> tuple[Section, datetime, bool]:
    """Return the row of a section; where it has no plan yet, make one and store it.

    Returns:
        The row, the time by the clock that claims are stamped with, and whether an
        earlier build has left a next plan.

    Raises:
        SourceError: the source could not be read.
    """
    found = Section.objects.with_plan(site=site.name, name=name)
    if not found or not _has_plan(found[0]):
        _make_plan(name, site)
        found = Section.objects.with_plan(site=site.name, name=name)
    section = found[0]
    if section.missing_since is not None:
        Section.objects.filter(pk=section.pk).update(missing_since=None)
        Page.objects.of(site.name, INDEX).update(wanted=F("wanted") + 1)
    return section, section.now, section.has_next


def _has_plan(section: Section) -> bool:
    if section.missing_since is None:
        return section.next_number > 1
    # It had left the registry for a while, and its pages may have been pruned.
    return section.pages.filter(state=State.ACTIVE).exists()


@retried
def _make_plan(name: str, site: Site) -> None:
    ranges = first_plan(name, site).ranges
    with atomic():
        section, _ = Section.objects.get_or_create(site=site.name, name=name)
        # Locks the row, so that two builders make one plan. One that has left the
        # registry and was pruned may come back; its numbers are not used again.
        raise_plan_version(section)
        if not section.pages.filter(state=State.ACTIVE).exists():
            add_pages(section, ranges, announce=False)


def renew_plan(section: Section, site: Site) -> bool:
    """Take note of a deploy, and begin a new plan where the stored one fits no more.

    Returns:
        Whether it is replaced; other changes are located in the next plan.

    Raises:
        SourceError: the source failed.
    """
    with reading(section.name, site) as source:
        current = fingerprint(source, site)
        was_deployed = current != section.fingerprint
        if has_other_keys(section.fingerprint, current):
            _replace_plan(section, site, current)
            return True
        if was_deployed:
            note_deploy(section, current)
            section.fingerprint = current
        asks = may_break(section, was_deployed=was_deployed)
    if not asks or not is_broken(section):
        return False
    if not has_next_plan(section):  # else one that is being built
        _replace_plan(section, site)
    return True


def _replace_plan(section: Section, site: Site, current: str = "") -> None:
    logger.warning("The plan of %s is broken: it gets a new one", section)
    begin_replan(section, site, is_broken=True, fingerprint=current)
    section.fingerprint = current or section.fingerprint


def is_broken(section: Section) -> bool:
    """Return whether the stored plan does not fit its source any more.

    An upgrade may change how a collation sorts; a deploy may change the key's type.
    """
    space = reader_of(registry.get(section.name)).key_space()
    if space is None:
        return False
    try:
        active = section.pages.filter(state=State.ACTIVE)
        ranges = [KeyRange(*bounds) for bounds in active.values_list("low", "high")]
        bounds = [found.low for found in in_plan_order(ranges)[1:]]
        return not space.ascends([bound for bound in bounds if bound is not None])
    except (ValueError, StalePlanError):
        return True


def may_break(section: Section, *, was_deployed: bool) -> bool:
    """Return whether it is worth to ask :func:`is_broken`."""
    space = reader_of(registry.get(section.name)).key_space()
    if space is None:
        return False
    # Every database sorts all other types alike.
    return was_deployed or isinstance(space.field, CharField | TextField | UUIDField)


def is_unsettled(section: Section) -> bool:
    """Return whether a section is held, or a plan or pages wait for a decision."""
    return bool(Section.objects.unsettled(section=section.pk))


def settle_plan(
    section: Section, site: Site, *, is_stale: bool, allow_shrink: bool
) -> tuple[bool, str]:
    """Put the next plan in force, or begin one where the present one is stale.

    Args:
        section: its row, fresh from the database.
        site: the site.
        is_stale: whether pages could not be read by the plan that is served.
        allow_shrink: let the guard pass a plan that lists far less.

    Returns:
        Whether pages are dirty again, and why the guard holds the plan, or "".

    Raises:
        SourceError: the source failed.
    """
    if has_next_plan(section):
        if allow_shrink:
            forget_peak(section)
        elif reason := plan_reason(section, next_plan(section)):
            return False, reason
        take_new_changes(section, site)
        return finish_replan(section, site), ""
    return is_stale and begin_replan(section, site, is_broken=True) > 0, ""


def active_plan(section: Section) -> list[Page]:
    """Return the pages that are served, in the order of their ranges."""
    active = section.pages.filter(state=State.ACTIVE).with_section()
    return in_plan_order(active)


def has_next_plan(section: Section) -> bool:
    """Return whether a new plan is being built."""
    return bool(Page.objects.first_next(section=section.pk))


def next_plan(section: Section) -> list[Page]:
    """Return the pages of the next plan; none where none is being built.

    Pages whose ranges stay the same serve in both.
    """
    pages = section.pages.planned().with_section()
    ordered = sorted(pages, key=lambda page: page.state == State.NEXT)
    if not ordered or ordered[-1].state != State.NEXT:
        return []
    return in_plan_order(chain(ordered))


@retried
def begin_replan(
    section: Section, site: Site, *, is_broken: bool = False, fingerprint: str = ""
) -> int:
    """Make a new plan; its pages are built beside those that are served.

    Args:
        section: its row.
        site: the site.
        is_broken: whether the present plan does not fit the source any more. Pages
            whose ranges stay are then rendered anew too: between the same bounds there
            are other rows.
        fingerprint: of the source, where a deploy is noted together with the plan that
            it needs. If it were noted before, a kill in between would hide the need.

    Returns:
        How many pages of it are new.
    """
    ranges = first_plan(section.name, site).ranges
    with atomic():
        raise_plan_version(section)
        if fingerprint:
            rows = Section.objects.filter(pk=section.pk, fingerprint=fingerprint)
            if rows.exists():
                return 0  # another builder was faster, and builds its plan
            note_deploy(section, fingerprint)
        section.pages.filter(state=State.NEXT).delete()
        active = section.pages.filter(state=State.ACTIVE)
        bounds = active.values_list("pk", "low", "high")
        same = {KeyRange(low, high): pk for pk, low, high in bounds}
        new = [key_range for key_range in ranges if key_range not in same]
        if is_broken:
            kept = [same[key_range] for key_range in ranges if key_range in same]
            section.pages.filter(pk__in=kept).update(wanted=F("wanted") + 1)
            # The others go as they are: one may own any rows by now, and its pieces
            # would lie across both plans.
            active.exclude(pk__in=kept).update(built=F("wanted"))
        add_pages(section, new, state=State.NEXT, announce=False)
    return len(new)


@retried
def finish_replan(section: Section, site: Site) -> bool:
    """Put the next plan in force, once each page of it was built."""
    with atomic():
        raise_plan_version(section)
        plan = next_plan(section)
        if not plan or not all(page.built for page in plan):
            return False
        coming = [page for page in plan if page.state == State.NEXT]
        kept = {page.pk for page in plan}
        old = [page for page in active_plan(section) if page.pk not in kept]
        _replace(section, old, coming)
        if coming:
            publish([(coming[0], old, coming)])
            show_when_committed(coming)
    for page in coming:
        if page.object:
            send_page_built(page, page.entries, site)
    return True


def _replace(section: Section, old: list[Page], coming: list[Page]) -> None:
    # What was marked and is not in the old pages may be in the new ones, which then
    # stay as they are when they are built again: it is announced now or never.
    announces = any([page.announce and page.wanted > page.built for page in old])
    retired = section.pages.filter(pk__in=[page.pk for page in old])
    retired.update(state=State.RETIRED, retired_at=timezone.now())
    new = section.pages.filter(pk__in=[page.pk for page in coming])
    new.update(state=State.ACTIVE, announce=True)
    for page in coming:
        page.state, page.announce = State.ACTIVE, announces
