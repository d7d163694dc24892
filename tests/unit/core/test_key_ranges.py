"""Key ranges that part the whole key space."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from django_sitemaps_plus.core.key_ranges import KeyRange, key_ranges


class TestKeyRanges:
    def test_no_cut_gives_the_range_of_every_key(self):
        """From minus infinity to infinity."""
        assert key_ranges([]) == [KeyRange(None, None)]

    def test_each_cut_ends_one_range_and_begins_the_next(self):
        """A key equal to a cut belongs to the range that begins there."""
        assert key_ranges(["5", "9"]) == [
            KeyRange(None, "5"),
            KeyRange("5", "9"),
            KeyRange("9", None),
        ]

    @given(st.lists(st.integers(-100, 100), unique=True).map(sorted))
    def test_every_key_is_in_exactly_one_range(self, cuts):
        """No key is lost, none is listed twice."""
        ranges = key_ranges(map(str, cuts))
        for key in range(-101, 102):
            owners = [
                found
                for found in ranges
                if (found.low is None or int(found.low) <= key)
                and (found.high is None or key < int(found.high))
            ]
            assert len(owners) == 1
