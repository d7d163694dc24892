"""New plans of sections that have one: built beside it, then served in its place."""

from __future__ import annotations

from django.db.models import F
from django.utils import timezone

from django_sitemaps_plus.building.flip import publish
from django_sitemaps_plus.building.sending import send_page_built
from django_sitemaps_plus.conf import Site
from django_sitemaps_plus.core.key_ranges import KeyRange, chain, in_plan_order
from django_sitemaps_plus.models import Page, Section, State
from django_sitemaps_plus.models.prepared import fetch
from django_sitemaps_plus.models.transactions import atomic, retried
from django_sitemaps_plus.planning import first_plan
from django_sitemaps_plus.publishing.sync import show_when_committed
from django_sitemaps_plus.tracking.deploys import note_deploy
from django_sitemaps_plus.tracking.locating import coming_pages

from .numbering import add_plan


def active_plan(section: Section) -> list[Page]:
    """Return the pages that are served, in the order of their ranges."""
    active = section.pages.filter(state=State.ACTIVE).with_section()
    return in_plan_order(active)


def has_coming(section: Section) -> bool:
    """Return whether a plan is to come."""
    return bool(fetch(coming_pages, section=section.pk))


def coming_plan(section: Section) -> list[Page]:
    """Return the pages of the plan that is to come; none where none is.

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
        is_broken: whether the old plan does not fit the source any more. Pages whose
            ranges stay are then rendered anew too: between the same bounds there are
            other rows.
        fingerprint: of the source, where a deploy is noted together with the plan that
            it needs. Noted before, and then killed, nobody would know of the need.

    Returns:
        How many pages of it are new.
    """
    ranges = first_plan(section.name, site).ranges
    with atomic():
        raise_plan_version(section)
        if fingerprint:
            if _is_noted(section, fingerprint):
                return 0  # another builder was faster, and builds its plan
            note_deploy(section, fingerprint)
        section.pages.filter(state=State.NEXT).delete()
        active = section.pages.filter(state=State.ACTIVE)
        rows = active.values_list("pk", "low", "high")
        same = {KeyRange(low, high): pk for pk, low, high in rows}
        new = [bounds for bounds in ranges if bounds not in same]
        if is_broken:
            kept = [same[bounds] for bounds in ranges if bounds in same]
            section.pages.filter(pk__in=kept).update(wanted=F("wanted") + 1)
            # The others go as they are: one may own any rows by now, and its pieces
            # would lie across both plans.
            active.exclude(pk__in=kept).update(built=F("wanted"))
        add_plan(section, new, state=State.NEXT, announce=False)
    return len(new)


def _is_noted(section: Section, fingerprint: str) -> bool:
    rows = Section.objects.filter(pk=section.pk, fingerprint=fingerprint)
    return rows.exists()


@retried
def finish_replan(section: Section, site: Site) -> bool:
    """Let a new plan take the place of the old one, once each page of it was built."""
    with atomic():
        raise_plan_version(section)
        plan = coming_plan(section)
        if not plan or not all(page.built for page in plan):
            return False
        now = timezone.now()
        kept = {page.pk for page in plan}
        coming = [page for page in plan if page.state == State.NEXT]
        old = [page for page in active_plan(section) if page.pk not in kept]
        # What was marked and is not in the old pages may be in the new ones, which
        # then stay as they are when they are built again: it is told now or never.
        is_told = any([page.announce and page.wanted > page.built for page in old])
        retired = section.pages.filter(pk__in=[page.pk for page in old])
        retired.update(state=State.RETIRED, retired_at=now)
        new = section.pages.filter(pk__in=[page.pk for page in coming])
        new.update(state=State.ACTIVE, announce=True)
        for page in coming:
            page.state, page.announce = State.ACTIVE, is_told
        if coming:
            publish([(coming[0], old, coming)])
            show_when_committed(coming)
    for page in coming:
        if page.object:
            send_page_built(page, page.entries, site)
    return True


def raise_plan_version(section: Section) -> None:
    """Lock a section, and have whoever has located keys in its plan look again."""
    Section.objects.filter(pk=section.pk).update(plan_version=F("plan_version") + 1)
