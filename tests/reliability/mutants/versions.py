"""Mistakes of two versions at once, of pages that fail, and of the clock."""

from __future__ import annotations

from .planting import mutant

_VERSIONS = "tests/integration/tracking/test_versions.py"
_BUILDS = f"{_VERSIONS}::TestWhoBuilds"
_AGAIN = f"{_VERSIONS}::TestComparedOnceMore"
_TOLD = f"{_VERSIONS}::TestWhatIsTold"
_FAILING = "tests/integration/building/test_failures.py::TestPages"
_POISON = "tests/integration/building/test_failures.py::TestPoison"
_CLOCKS = "tests/integration/diagnostics/test_dashboard.py::TestClocks"
_ROLLING = "tests/reliability/test_rolling_deploys.py"


@mutant(
    "tracking.deploys:is_replaced", f"{_BUILDS}::test_versions_in_turn_mark_nothing"
)
def replaced_version_builds(is_replaced, section, current):
    """An old process takes a section back at once, and marks all pages."""
    return False


@mutant(
    "tracking.deploys:is_replaced",
    f"{_BUILDS}::test_it_returns_once_the_other_has_not_built_for_long",
)
def replaced_version_never_returns(is_replaced, section, current):
    """A rollback leaves a section alone for ever."""
    return current != section.fingerprint and current in section.replaced


@mutant(
    "tracking.deploys:note_build", f"{_BUILDS}::test_builds_of_the_winner_keep_it_away"
)
def builds_of_the_winner_not_noted(note_build, section, current):
    """An old process returns while the new version builds."""


@mutant(
    "tracking.schedule:early_pages", f"{_AGAIN}::test_a_small_section_by_the_next_build"
)
def deploy_not_compared_once_more(early_pages, section):
    """What old processes did not record is found by the audit alone."""


@mutant(
    "building.settle:early_pages", f"{_AGAIN}::test_a_large_one_by_slices_of_the_audit"
)
def large_deploy_not_compared(early_pages, section):
    """A large section is not compared once more after a deploy."""


@mutant("tracking.schedule:early_pages", _ROLLING)
def old_processes_lose_changes(early_pages, section):
    """Changes of old processes, while a deploy goes on, are never found."""


@mutant("tracking.locating:mark_all", f"{_TOLD}::test_of_edits_that_wait")
def edit_before_a_deploy_announces_its_page(mark_all, section, **named):
    """Engines hear of each URL of a page for one edit that waited."""
    mark_all(section, **{**named, "announce": True})


@mutant(
    "tracking.deploys:words_of",
    f"{_VERSIONS}::test_values_from_rows_are_no_part_of_the_fingerprint",
)
def values_are_part_of_the_fingerprint(words_of, value):
    """A change of the rows that a query was made of is taken for a deploy."""
    return str(getattr(value, "query", None) or words_of(value))


@mutant("sources.shapes:is_time", f"{_VERSIONS}::test_which_values_differ")
def time_is_a_value(is_time, value):
    """A query by the present time has all pages compared in each build."""
    return False


@mutant(
    "tracking.deploys:note_values",
    f"{_VERSIONS}::test_a_change_of_them_is_found_by_the_next_build_and_announced",
)
def changed_values_forgotten(note_values, section, values):
    """Rows that a query names by their keys come and go unnoticed."""


@mutant(
    "models.claims:PageClaimQuerySet.claimable",
    f"{_FAILING}::test_once_the_cause_is_gone_plain_builds_alone_recover",
)
def failed_page_parked_for_ever(claimable, rows, since=None, lease=None):
    """A page that failed some times is never tried again."""
    return claimable(rows, since, lease).filter(attempts__lt=5)


@mutant(
    "models.claims:pause_seconds",
    f"{_FAILING}::test_there_are_pauses_after_some_attempts",
)
def failed_page_tried_by_each_build(pause_seconds, failures, first, longest):
    """A page that fails costs each build an attempt, for ever."""
    return 0.0


@mutant("models.claims:LONGEST_PAUSE", f"{_FAILING}::test_pauses_grow_to_an_hour")
def pauses_grow_for_ever(longest):
    """A page that fails is tried again after days."""
    return longest * 1_000


@mutant("models.claims:UNTRIED", f"{_POISON}::test_a_page_that_lives_again_has_no_past")
def deploy_ends_no_pause(untried):
    """A deploy that mends a source leaves a page alone that builders died of."""
    return {}


@mutant(
    "models.claims:MAX_DEATHS",
    f"{_POISON}::test_only_the_page_that_kills_is_left_alone",
)
def deadly_page_tried_by_each_build(most):
    """A page that kills its builders kills each build."""
    return most * 1_000


@mutant(
    "models.claims:PageClaimQuerySet.fresh",
    f"{_POISON}::test_only_the_page_that_kills_is_left_alone",
)
def deadly_page_takes_others_along(fresh, rows, sections, lease, **values):
    """A page that kills its builder is taken together with others."""
    free = rows.claimable(values.get("since"), lease).filter(section__in=sections)
    return list(free.with_section().order_by("id")[:8])


@mutant("models.clock:utc_offset", _CLOCKS)
def clock_in_utc_without_zones(utc_offset, connection):
    """Ages are hours off where Django keeps local times."""
    return 0
