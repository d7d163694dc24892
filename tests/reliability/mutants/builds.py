"""Mistakes of what tracks changes, claims pages and flips them."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace
from datetime import timedelta

from .planting import mutant

_LOST = "tests/reliability/test_lost_updates.py"
_DURING = f"{_LOST}::test_changes_during_a_build_are_published"
_FENCING = "tests/reliability/test_fencing.py"
_SCHEDULERS = "tests/reliability/test_schedulers.py"
_GUARD = "tests/reliability/test_guard.py::TestShrinkGuard"
_SWEEP = "tests/reliability/test_kill_sweep.py::test_killed_at_any_step"
_RECONCILED = "tests/reliability/test_reconcile.py::test_edits_that_nobody_told"
_SIGNALS = "tests/integration/building/plan/test_signals_sent.py"
_MARKING = "tests/integration/tracking/test_changes.py::TestMarking"


@mutant("building.flip:point", f"{_DURING}[stored]")
def flip_clears_every_change(point, page, *args, **kwargs):
    """Boolean dirty flag: a flip clears changes that came in during the build."""
    page.refresh_from_db(fields=["wanted"])
    return point(page, *args, **kwargs)


@mutant("building.flip:flip", f"{_DURING}[rows read]")
def version_read_after_the_build(flip, results):
    """The version that a page is built for is read after the build."""
    for page, _ in results:
        page.refresh_from_db(fields=["wanted"])
    return flip(results)


@mutant("models.page_queries:PageQueries.raise_wanted", f"{_DURING}[stored]")
def dirty_page_not_marked(raise_wanted, rows, *args, pages, **kwargs):
    """Boolean dirty flag: a page that is dirty is not marked again."""
    from django.db.models import F

    pages = list(_only(pages, wanted=F("built")))
    return raise_wanted(rows, *args, pages=pages, **kwargs)


@mutant("models.page_queries:PageQueries.raise_wanted", _SCHEDULERS, is_slow=True)
def claimed_page_not_marked(raise_wanted, rows, *args, pages, **kwargs):
    """A page that somebody builds is not marked."""
    pages = list(_only(pages, token=""))
    return raise_wanted(rows, *args, pages=pages, **kwargs)


def _only(pages, **conditions):
    from django_sitemaps_plus.models import Page

    rows = Page.objects.filter(pk__in=list(pages), **conditions)
    return list(rows.values_list("pk", flat=True))


@mutant(
    "building.flip:point",
    f"{_FENCING}::test_a_stopped_builder_publishes_nothing[stored]",
)
def flip_without_token(point, page, *args, **kwargs):
    """Lock without fence: a flip does not ask for the token of its claim."""
    page.refresh_from_db(fields=["token"])
    return point(page, *args, **kwargs)


@mutant(
    "building.flip:point", f"{_FENCING}::test_a_version_that_is_built_is_not_built_over"
)
def flip_without_version(point, page, *args, **kwargs):
    """A flip does not compare versions."""
    type(page).objects.filter(pk=page.pk).update(built=0)
    page.built = 0
    return point(page, *args, **kwargs)


@mutant(
    "models.claims:PageClaimQuerySet.release",
    f"{_FENCING}::test_giving_up_leaves_the_claim_of_another",
)
def release_without_token(release, rows, pages, *args, **kwargs):
    """A claim is released without its token."""
    for page in pages:
        page.refresh_from_db(fields=["token"])
    release(rows, pages, *args, **kwargs)


@mutant(
    "models.claims:PageClaimQuerySet.taken",
    f"{_FENCING}::test_two_builders_never_take_the_same_page",
)
def claimed_page_taken(take, *args, pages, token, **kwargs):
    """A page is claimed though another builder has just claimed it."""
    from django.db.models.functions import Now

    from django_sitemaps_plus.models import Page

    return Page.objects.filter(pk__in=pages).update(token=token, claimed_at=Now())


@mutant("models.claims:PageClaimQuerySet.claimable", _SCHEDULERS, is_slow=True)
def claim_keeps_nobody_away(claimable, rows, since=None, lease=None):
    """Pages that somebody is building are claimable."""
    return claimable(rows, since, timedelta(days=-1))


@mutant(
    "models.claims:PageClaimQuerySet.claimable",
    "tests/reliability/test_recovery.py::test_all_workers_are_killed",
    is_slow=True,
)
def lease_without_end(claimable, rows, since=None, lease=None):
    """What a dead worker has claimed stays claimed."""
    return claimable(rows, since, timedelta(days=365))


@mutant("building.flip:point", f"{_DURING}[inside split]")
def split_leaves_pages_clean(point, *args, is_again=False, **kwargs):
    """A split does not build its pieces once more."""
    return point(*args, **kwargs)


@mutant(
    "tracking.locating:mark",
    f"{_LOST}::test_a_key_located_before_a_split_marks_the_page_that_owns_it",
)
def pages_marked_by_an_old_plan(mark, section, located, **kwargs):
    """Pages are marked as an old plan had them."""
    section.refresh_from_db(fields=["plan_version"])
    located = replace(located, plan_version=section.plan_version)
    return mark(section, located, **kwargs)


@mutant(
    "tracking.locating:mark",
    f"{_MARKING}::test_changes_of_another_database_go_once_the_pages_are_committed",
)
def changes_deleted_first(mark, section, located, *, changes=(), **kwargs):
    """Changes are deleted before their pages are marked."""
    from django_sitemaps_plus.tracking.locating import delete_changes

    delete_changes(changes)
    return mark(section, located, changes=changes, **kwargs)


@mutant(
    "tracking.locating:delete_changes",
    "tests/integration/tracking/test_changes.py::TestTaking::"
    "test_a_change_that_commits_late_under_a_lower_id_stays",
)
def changes_deleted_by_range(delete_changes, changes):
    """Changes are deleted by a range of ids, with those that commit late."""
    for change in changes:
        type(change).objects.filter(section=change.section, pk__lte=change.pk).delete()


@mutant(
    "tracking.databases:savepoint",
    "tests/integration/tracking/test_saves.py::test_the_transaction_of_a_save_goes_on",
    database="postgresql",
)
def no_savepoint(savepoint, alias):
    """A change is recorded without a savepoint in the user's transaction."""
    return nullcontext()


@mutant(
    "django.db.transaction:on_commit",
    "tests/reliability/test_save_safety.py::test_a_save_goes_on[built-raising_executor]",
)
def commit_hook_not_robust(on_commit, function, using=None, robust=False):
    """robust=False: what a wake-up raises reaches the user's commit."""
    return on_commit(function, using)


@mutant("building.guard:eroding", "tests/integration/building/test_guard.py")
def small_losses_pass(eroding, results):
    """A section may fall in small steps."""
    return []


@mutant("building.guard:_reason", _GUARD)
def no_shrink_guard(reason, *args):
    """No section is ever held."""
    return ""


@mutant(
    "building.guard:hold",
    f"{_SWEEP}[deletions_and_merges-options2]",
    is_slow=True,
)
def hold_forgotten(hold, held):
    """A build that is killed leaves held pages that nobody looks at."""
    from django_sitemaps_plus.models import Section

    rows = Section.objects.filter(pk__in={page.section_id for page, _ in held})
    unheld = list(rows.filter(hold_reason="").values_list("pk", flat=True))
    hold(held)
    rows.filter(pk__in=unheld).update(hold_reason="")


@mutant(
    "building.flip:pointer",
    "tests/reliability/test_conditional.py::"
    "test_a_clock_that_is_set_back_makes_no_false_304",
)
def last_modified_falls(pointer, page, new, now):
    """Last-Modified follows a clock that is set back."""
    fields = pointer(page, new, now)
    return fields | ({"published_at": now} if new.is_changed else {})


@mutant(
    "building.plan.replan:add_pages",
    "tests/integration/notifications/test_what_is_told.py::"
    "TestNothingIsTold::test_of_a_first_build",
)
def first_build_announced(add_pages, *args, announce=False, **kwargs):
    """A first build is announced as if all of it were new."""
    return add_pages(*args, announce=True, **kwargs)


@mutant(
    "tracking.locating:mark_all",
    "tests/integration/notifications/test_what_is_told.py::TestChanges",
)
def deploy_hides_a_change(mark_all, section, *, announce=True, **named):
    """A deploy hides the change before it."""
    mark_all(section, announce=announce, **named)
    if not announce:
        section.pages.planned().update(announce=False, is_edited=False)


@mutant(
    "building.flip:take_changes_meanwhile",
    "tests/integration/notifications/test_what_is_told.py::"
    "TestChangesDuringABuildOfWhichNobodyIsTold",
)
def change_during_a_deploy_lost(take_changes_meanwhile, *args):
    """An edit during the build after a deploy is never announced."""


@mutant("building.build:_prepare", f"{_RECONCILED}[full-1]")
def full_build_announces_nothing(prepare, build, section):
    """Nobody is notified of what a full build finds."""
    prepare(build, section)
    section.row.pages.planned().update(announce=False)


@mutant("building.build:mark_unchecked", f"{_RECONCILED}[audit-1]")
def audit_announces_nothing(mark_unchecked, sections):
    """Nobody is notified of what an audit finds."""
    from django_sitemaps_plus.models import Page

    found = mark_unchecked(sections)
    Page.objects.dirty().update(announce=False)
    return found


@mutant("building.build:mark_unchecked", f"{_RECONCILED}[audit-1]")
def audit_leaves_pages_out(mark_unchecked, sections):
    """An audit looks at some of the old pages alone."""
    from django.db.models.functions import Now

    from django_sitemaps_plus.models import Page

    Page.objects.filter(number__gte=10).update(checked_at=Now())
    return mark_unchecked(sections)


@mutant("core.diff:diff", f"{_RECONCILED}[full-1]")
def removed_urls_forgotten(diff, *args):
    """Nobody is notified of a URL that is gone."""
    return replace(diff(*args), removed=[])


@mutant(
    "sources.columns:is_passing",
    "tests/integration/building/test_failures.py::TestRow",
)
def row_left_out_for_an_outage(is_passing, error):
    """A row is left out because the database disappeared while it was rendered."""
    return False


@mutant("core.xml:drop_illegal", "tests/unit/core/test_documents.py", is_slow=True)
def control_characters_kept(drop_illegal, text):
    """Characters that XML forbids are written."""
    return text


@mutant(
    "building.flip:record_flips",
    f"{_SIGNALS}::TestUrlsChanged",
)
def flip_without_publication(record_flips, flips):
    """A flip leaves no publication, so nobody is notified of it."""
    from django_sitemaps_plus.models import Publication

    known = set(Publication.objects.values_list("pk", flat=True))
    record_flips(flips)
    Publication.objects.exclude(pk__in=known).delete()


@mutant(
    "models.page_queries:PageQueries.listed",
    "tests/integration/building/plan/test_replan.py::TestUnfinished",
)
def next_pages_listed(listed, pages, sections, unbuilt):
    """The index lists pages of a plan to come."""
    from django_sitemaps_plus.models import State

    return pages.filter(section__in=sections, state__in=[State.ACTIVE, State.NEXT])


@mutant(
    "models.page_queries:PageQueries.served",
    "tests/integration/building/plan/test_replan.py::TestUnfinished",
)
def next_pages_served(served, pages, site, section, number):
    """Pages of a plan to come are served."""
    return pages.of(site, section).filter(number=number).first()


@mutant(
    "building.guard:note_peak",
    "tests/integration/building/test_guard.py::TestSmallSteps"
    "::test_the_day_before_counts",
)
def peak_of_the_day_before_forgotten(note_peak, section, total):
    """The guard forgets the peak of the day before."""
    note_peak(section, total)
    type(section).objects.filter(pk=section.pk).update(earlier_peak=0)


_TOTALS = "tests/integration/building/test_build.py::TestTotals"


@mutant("building.flip:add_totals", _TOTALS)
def only_changed_bytes_counted(add_totals, flips):
    """Rows that are left out of a page whose bytes stay are not counted."""
    add_totals([it for it in flips if any(new.is_changed for new in it.after)])


@mutant("building.flip:read_announce", _TOTALS)
def state_of_the_claim_counted(read_announce, pages):
    """A page counts by the plan that it was in when it was claimed."""
    states = [page.state for page in pages]
    read_announce(pages)
    for page, state in zip(pages, states, strict=True):
        page.state = state


@mutant(
    "building.flip:point",
    "tests/integration/building/test_claims.py::TestTwoBuilders::"
    "test_a_page_that_was_read_before_another_flip_is_built_anew",
)
def flip_of_a_page_read_before_another(point, page, *args, **kwargs):
    """A flip counts from what a page was before the last flip."""
    page.refresh_from_db(fields=["built"])
    return point(page, *args, **kwargs)


@mutant("building.plan.merge:add_totals", _SWEEP, is_slow=True)
def merge_not_counted(add_totals, flips):
    """The totals of a section keep what a merge has retired."""


@mutant("models.sections:SectionQuerySet.recount", _TOTALS)
def plan_to_come_counted(recount, rows, section):
    """Pages of a next plan count before they are served."""
    from django_sitemaps_plus.models import Page

    entries = sum(
        Page.objects.filter(section=section).values_list("entries", flat=True)
    )
    recount(rows, section)
    rows.filter(pk=section).update(entries=entries)
