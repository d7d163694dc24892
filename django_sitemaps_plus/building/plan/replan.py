"""The plan of a section: made, numbered, replaced, and given up for live serving."""

from __future__ import annotations

import logging
from collections.abc import Collection, Sequence

from django.db.models import CharField, F, TextField, UUIDField
from django.utils import timezone

from django_sitemaps_plus.building.flip import Flip, record_flips, send_page_built
from django_sitemaps_plus.conf import get_settings
from django_sitemaps_plus.core import key_ranges
from django_sitemaps_plus.exceptions import BuildError, StalePlanError
from django_sitemaps_plus.models import INDEX, Page, Section, State
from django_sitemaps_plus.models.base import atomic, retried
from django_sitemaps_plus.models.claims import UNTRIED
from django_sitemaps_plus.models.clock import Now
from django_sitemaps_plus.models.sections import owning_site
from django_sitemaps_plus.planning import bounded_plan, first_plan
from django_sitemaps_plus.publishing.sync import hide_unknown, show_when_committed
from django_sitemaps_plus.section import OpenSection, open_section
from django_sitemaps_plus.tracking import deploys, known
from django_sitemaps_plus.tracking.collecting import waiting_changes
from django_sitemaps_plus.tracking.known import note_models
from django_sitemaps_plus.tracking.locating import mark_all

logger = logging.getLogger(__name__)

#: Pages that are inserted by one statement.
PAGES_PER_INSERT = 100


def plan_section(section: OpenSection) -> None:
    """Read the row of a section; where it has no plan yet, make one and store it."""
    name, site = section.name, section.site
    rows = Section.objects.with_plan(site=site.name, name=name)
    has_plan = bool(rows) and rows[0].next_number > 1
    if has_plan and rows[0].missing_since is not None:
        # While the section was not registered, its pages may have been pruned.
        has_plan = rows[0].pages.active().exists()
    if not has_plan:
        _make_plan(section)
        rows = Section.objects.with_plan(site=site.name, name=name)
    section.row = row = rows[0]
    if row.name != name:
        raise BuildError(
            f"section {name!r} cannot be kept in a database that takes its name for "
            f"{row.name!r}, which is known there. Choose another name"
        )
    known.add(name)
    if row.missing_since is not None:
        # Saves were not recorded while it was missing.
        back = {"missing_since": None, "new_since": Now()}
        Section.objects.filter(pk=row.pk).update(**back)
        Page.objects.mark_indexes(site=site.name)


@retried
def _make_plan(section: OpenSection) -> None:
    ranges, site = first_plan(section).ranges, section.site
    with atomic():
        row, _ = Section.objects.get_or_create(
            site=site.name, name=section.name, defaults={"origin": site.origin}
        )
        # Locks the row, so that two builders make one plan. A section that has left the
        # registry and was pruned may come back; its numbers are not used again.
        raise_plan_version(row)
        if not row.pages.active().exists():
            add_pages(row, ranges, announce=False)
            Section.objects.recount(row.pk)
            Section.objects.filter(pk=row.pk).update(new_since=Now())


def renew_plan(section: OpenSection, current: str, *, looks: bool) -> bool:
    """Note a deploy, and replace a plan that fits no more; return if it is replaced.

    ``current`` is the fingerprint that the source has now. Its plan is looked at where
    that has changed, or where ``looks`` says so: rows of pages may be lost.
    """
    row = section.row
    was_deployed = current != row.fingerprint
    values = deploys.query_values(section, current)
    note_models(section, is_new=was_deployed)
    # A fingerprint is a hash and the type of the keys; a new section has none yet.
    old_type, new_type = [it.partition(" ")[2] for it in (row.fingerprint, current)]
    has_new_type = old_type != new_type and "" not in (old_type, new_type)
    if not was_deployed:
        built_at = row.built_at
        if built_at is None or row.now - built_at > deploys.note_interval():
            deploys.note_build(row.pk, current)
        deploys.note_values(row, values)
    elif not has_new_type:  # begin_replan() notes keys of another type
        if get_settings().historic_limits:
            _renew_indexes(row)
        deploys.note_deploy(row, current, values)
    row.fingerprint = current
    if not has_new_type and plan_fits(section, looks=looks or was_deployed):
        return False
    if has_new_type or not row.pages.filter(state=State.NEXT).exists():
        logger.warning("The plan of %s is broken: it gets a new one", row)
        noted = current if has_new_type else ""
        begin_replan(section, is_broken=True, fingerprint=noted)
    # A plan with the ranges that it had keeps all pages.
    return row.pages.filter(state=State.NEXT).exists()


@retried
def _renew_indexes(section: Section) -> None:
    """Make the indexes that smaller ones ask for, and have all of them built."""
    with atomic():
        add_pages(section, [])
        Page.objects.mark_indexes(site=section.site)


def plan_fits(section: OpenSection, *, looks: bool) -> bool:
    """Return whether the stored plan of a section still fits its source.

    An upgrade may change how a collation sorts; a deploy may change the key's type.
    """
    space = section.reader.key_space()
    if space is None:
        return True
    # Every database sorts all other types alike.
    has_collation = isinstance(space.field, CharField | TextField | UUIDField)
    if not looks and not has_collation:
        return True
    try:
        active = section.row.pages.active().values_list("low", "high")
        ranges = [key_ranges.KeyRange(*bounds) for bounds in active]
        lows = [key_range.low for key_range in key_ranges.in_plan_order(ranges)[1:]]
        return space.ascends([low for low in lows if low is not None])
    except (ValueError, StalePlanError):
        return False


def active_plan(section: Section) -> list[Page]:
    """Return the pages that are served, in the order of their ranges."""
    return key_ranges.in_plan_order(section.pages.active().with_section())


def next_plan(section: Section) -> list[Page]:
    """Return the pages of the next plan, and those that serve in both; or none."""
    if not section.pages.filter(state=State.NEXT).exists():
        return []
    pages = section.pages.planned().with_section()
    ordered = sorted(pages, key=lambda page: page.state == State.NEXT)
    return key_ranges.in_plan_order(key_ranges.chain(ordered))


@retried
def begin_replan(
    section: OpenSection, *, is_broken: bool = False, fingerprint: str = ""
) -> bool:
    """Make a plan beside the one that is served; return whether pages of it are new.

    A plan that does not fit the source any more is broken: pages whose ranges stay are
    rendered anew too, since other rows are between the same bounds. A deploy that needs
    another plan is noted together with it: a kill in between would hide the need.
    """
    ranges, row = first_plan(section).ranges, section.row
    with atomic():
        raise_plan_version(row)
        active = row.pages.active()
        if not active.exists():
            return False  # it is served live by now
        if fingerprint:
            if Section.objects.filter(pk=row.pk, fingerprint=fingerprint).exists():
                return False  # another builder was faster, and builds its plan
            deploys.note_deploy(row, fingerprint)
            if waiting_changes([row.name]):
                mark_all(row)  # they name rows by other keys: whole pages announce
        row.pages.filter(state=State.NEXT).delete()
        bounds = active.values_list("pk", "low", "high")
        same = {key_ranges.KeyRange(low, high): pk for pk, low, high in bounds}
        if is_broken:
            kept = [same[key_range] for key_range in ranges if key_range in same]
            row.pages.filter(pk__in=kept).update(wanted=F("wanted") + 1)
            # The others are built no more, and served as they are until they go: one
            # may own any rows by now, and its pieces would lie across both plans.
            active.exclude(pk__in=kept).update(built=F("wanted"))
        new = [key_range for key_range in ranges if key_range not in same]
        add_pages(row, new, state=State.NEXT, announce=False)
        Section.objects.recount(row.pk)
    return bool(new)


@retried
def finish_replan(section: OpenSection) -> bool:
    """Put the next plan in force, once each page of it was built."""
    row = section.row
    with atomic():
        raise_plan_version(row)
        plan = next_plan(row)
        if not plan or not all(page.built for page in plan):
            return False
        coming = [page for page in plan if page.state == State.NEXT]
        kept = {page.pk for page in plan}
        # Pages left where rows are lost part no key space, and go all the same.
        old = [it for it in row.pages.active().with_section() if it.pk not in kept]
        retired = row.pages.filter(pk__in=[page.pk for page in old])
        retired.update(state=State.RETIRED, retired_at=timezone.now())
        new = row.pages.filter(pk__in=[page.pk for page in coming])
        new.update(state=State.ACTIVE, announce=True)
        Section.objects.recount(row.pk)
        Section.objects.filter(pk=row.pk).update(published_at=Now())

        # Changes that are marked, and not in the old pages, may be in the new ones,
        # which then stay as they are when they are built again: announce them now, as
        # the first page says for the whole plan, or never.
        dirty = [page for page in old if page.wanted > page.built]
        for page in coming:
            page.state = State.ACTIVE
        if coming:
            coming[0].announce = any([before.announce for before in dirty])
            coming[0].is_edited = any([before.is_edited for before in dirty])
            record_flips([Flip(coming[0], old, coming)])
            show_when_committed(coming)
    for page in coming:
        if page.object:
            send_page_built(page, page.entries)
    return True


def add_pages(
    section: Section, ranges: Sequence[key_ranges.KeyRange], **fields: object
) -> list[Page]:
    """Make new pages for key ranges, inside a transaction of the caller's."""
    number = _take_numbers(section, len(ranges))
    index, _ = Section.objects.get_or_create(
        site=section.site,
        name=INDEX,
        defaults={"next_number": 0, "origin": section.origin},
    )
    position = _take_numbers(index, len(ranges))

    # The first index is page 0 (/sitemap.xml), the others 2 and on (/sitemaps-2.xml).
    limit = get_settings().max_sitemaps
    wanted = {0, *range(2, -(-(position + len(ranges)) // limit) + 1)}
    stored = set(index.pages.values_list("number", flat=True))
    Page.objects.bulk_create(
        [Page(section=index, number=number) for number in sorted(wanted - stored)]
    )

    pages = [
        Page(
            section=section,
            number=number + i,
            index_position=position + i,
            low=bounds.low,
            low_number=key_ranges.as_number(bounds.low),
            high=bounds.high,
            **fields,
        )
        for i, bounds in enumerate(ranges)
    ]
    return Page.objects.bulk_create(pages, batch_size=PAGES_PER_INSERT)


def _take_numbers(section: Section, total: int) -> int:
    """Count numbers of a section as used, and return the first of them."""
    rows = Section.objects.filter(pk=section.pk)
    # The update locks the row, so no two builders take the same numbers.
    rows.update(next_number=F("next_number") + total)
    return rows.values_list("next_number", flat=True)[0] - total


def raise_plan_version(section: Section) -> None:
    """Lock a section; a key located in its plan before is located again."""
    Section.objects.filter(pk=section.pk).update(plan_version=F("plan_version") + 1)


def serve_live(names: Collection[str]) -> None:
    """Remove the pages of sections, which are rendered on request from then on.

    So are the indexes, until every section is built. Builders at work lose their
    claims. Objects, and changes that nothing reads, stay until they are pruned.

    Raises:
        BuildError: a source cannot be read or has too many rows, and nothing is
            removed; or public names cannot be, and the next build removes them.
    """
    site, rows = owning_site(), get_settings().live_max_rows
    for name in names:
        if bounded_plan(open_section(name), rows) is None:
            raise BuildError(
                f"section {name!r} has more than {rows:,} rows, so it would not be "
                "served live. Raise LIVE_MAX_ROWS first"
            )
    for section in Section.objects.filter(site=site.name, name__in=names):
        _remove_pages(section)
    hide_unknown()


@retried
def _remove_pages(section: Section) -> None:
    with atomic():
        raise_plan_version(section)
        section.pages.all().delete()
        Section.objects.filter(pk=section.pk).forget(next_number=1)
        withdraw_indexes(section.site)


@retried
def withdraw_indexes(site: str) -> None:
    """Have the indexes of a site rendered on request, until they are built again.

    Built ones list no section without pages.
    """
    with atomic():
        indexes = Page.objects.of(site, INDEX)
        indexes.update(
            built=0,
            wanted=F("wanted") + 1,
            token="",
            previous_object=F("object"),
            object="",
            plain_hash="",
            entries=0,
            error="",
            **UNTRIED,
        )
        show_when_committed(indexes)
