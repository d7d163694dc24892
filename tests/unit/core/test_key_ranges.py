"""Which range owns a key, and when pages split and merge."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from django_sitemaps_plus.core.key_ranges import (
    KeyRange,
    in_plan_order,
    key_ranges,
    locate_integers,
    may_merge,
    most_entries,
    split_step,
)
from django_sitemaps_plus.core.limits import MAX_BYTES

LIMITS = st.integers(1, 50_000)


@given(
    st.lists(st.integers(-(10**18), 10**18), unique=True).map(sorted),
    st.lists(st.integers(-(10**18), 10**18)),
)
def test_a_bound_belongs_to_the_range_that_it_begins(bounds, keys):
    """Ranges are half-open; as text 10 would come before 9."""
    keys += bounds
    scanned = [sum(bound <= key for bound in bounds) for key in keys]
    assert locate_integers([None, *map(str, bounds)], keys) == scanned


class TestInPlanOrder:
    def test_each_cut_ends_one_range_and_begins_the_next(self):
        """A key equal to a cut belongs to the range that begins there."""
        middle = KeyRange("5", "9")
        assert key_ranges([]) == [KeyRange(None, None)]
        assert key_ranges(["5", "9"]) == [
            *(KeyRange(None, "5"), middle, KeyRange("9", None))
        ]

    @given(st.lists(st.text(), unique=True), st.randoms())
    def test_pages_are_ordered_without_a_comparison_of_keys(self, cuts, random):
        """Each begins where the one before ends, whatever order the keys are in."""
        ranges = key_ranges(cuts)
        shuffled = random.sample(ranges, len(ranges))
        assert in_plan_order(shuffled) == ranges

    @pytest.mark.parametrize(
        "pages",
        [
            [KeyRange(None, "5")],
            [KeyRange("5", None)],
            [KeyRange(None, "5"), KeyRange("6", None)],
            [KeyRange(None, "5"), KeyRange("5", None), KeyRange("5", None)],
            [KeyRange(), KeyRange("5", "6")],
            [KeyRange(None, "5"), KeyRange("5", "5")],
        ],
        ids=["no end", "no begin", "gap", "double", "stray", "circle"],
    )
    def test_pages_that_do_not_part_the_key_space_are_refused(self, pages):
        """A key would be lost, or be listed twice."""
        with pytest.raises(ValueError, match="do not part"):
            in_plan_order(pages)


class TestSplitting:
    @pytest.mark.parametrize(
        ("entries", "limit", "overfull"),
        [
            *((11, 10, False), (12, 10, True), (2, 1, True), (10, 9, True)),
            *((11_000, 10_000, False), (11_001, 10_000, True)),
        ],
    )
    def test_a_tenth_more_than_the_limit_is_too_much(self, entries, limit, overfull):
        assert (entries > most_entries(limit)) is overfull

    @pytest.mark.parametrize(
        ("rows", "limit", "is_last", "step"),
        [
            (12, 10, True, 10),
            (12, 10, False, 6),
            (25, 10, False, 7),
            (3, 2, False, 2),
        ],
    )
    def test_the_last_page_is_cut_at_its_end_and_others_evenly(
        self, rows, limit, is_last, step
    ):
        """So growing keys fill pages, and a page in the middle is halved."""
        assert split_step(rows, limit, is_last=is_last) == step

    @given(LIMITS, st.integers(0, 20))
    def test_pieces_fit_their_limit_and_do_not_merge_again(self, limit, more):
        """Nor after a row or two of them have gone: there is no oscillation."""
        rows = limit + limit // 10 + 1 + more * limit
        for is_last in (True, False):
            step = split_step(rows, limit, is_last=is_last)
            assert 1 <= step <= limit
            pieces = [min(step, rows - at) for at in range(0, rows, step)]
            assert len(pieces) > 1
            for one, two in pairwise(pieces):
                assert not may_merge(one + two, 0, limit)
                if limit >= 40:
                    assert not may_merge(one + two - 2, 0, limit)


class TestMerging:
    @pytest.mark.parametrize(
        ("entries", "neighbour", "limit", "merges"),
        [
            *((0, 0, 10, True), (2, 2, 10, True), (2, 3, 10, False)),
            *((0, 0, 1, False), (2_000, 3_000, 10_000, False)),
        ],
    )
    def test_neighbours_under_half_of_a_page_merge(
        self, entries, neighbour, limit, merges
    ):
        assert may_merge(entries + neighbour, 0, limit) is merges

    @given(LIMITS, st.integers(0, 50_000), st.integers(0, 2 * MAX_BYTES))
    def test_what_has_merged_does_not_split(self, limit, entries, size):
        if may_merge(entries, size, limit):
            assert 2 * entries <= most_entries(limit)
            assert 2 * size <= MAX_BYTES
