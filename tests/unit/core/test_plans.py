"""Which range owns a key, when pages split and merge, and what changed in a page."""

import html
import re
import tracemalloc
from functools import partial
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from django_sitemaps_plus.core.diff import Diff, diff
from django_sitemaps_plus.core.key_ranges import (
    KeyRange,
    as_number,
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


@given(st.lists(st.uuids(), min_size=2))
def test_numbers_of_uuids_rise_as_they_do(keys):
    """A UUID in other words has none, nor has an integer that databases cannot hold."""
    numbers = [as_number(str(key)) for key in sorted(keys)]
    assert numbers == sorted(numbers)
    assert -(1 << 63) <= numbers[0] <= numbers[-1] < 1 << 63
    assert {
        as_number(it) for it in (keys[0].hex + ".", f"{{{keys[0]}}}", "9" * 19)
    } == {None}


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
        [(12, 10, True, 10), (12, 10, False, 6), (25, 10, False, 7), (3, 2, False, 2)],
    )
    def test_the_last_page_is_cut_at_its_end_and_others_evenly(
        self, rows, limit, is_last, step
    ):
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
                assert not may_merge(one + two, 0, limit, MAX_BYTES)
                if limit >= 40:
                    assert not may_merge(one + two - 2, 0, limit, MAX_BYTES)


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
        assert may_merge(entries + neighbour, 0, limit, MAX_BYTES) is merges

    @given(LIMITS, st.integers(0, 50_000), st.integers(0, 2 * MAX_BYTES))
    def test_what_has_merged_does_not_split(self, limit, entries, size):
        if may_merge(entries, size, limit, MAX_BYTES):
            assert 2 * entries <= most_entries(limit)
            assert 2 * size <= MAX_BYTES


HEAD = b'<?xml version="1.0" encoding="UTF-8"?>\n<urlset xmlns="http://x/0.9">\n'
TAIL = b"</urlset>\n"


def document(*entries):
    """Return a page of entries: pairs of a URL and the rest of its line."""
    lines = [
        f"<url><loc>{html.escape(url).replace('&#x27;', '&apos;')}</loc>{rest}</url>\n"
        for url, rest in entries
    ]
    return HEAD + "".join(lines).encode() + TAIL


def compared(old, new):
    return diff(partial(iter, old), partial(iter, new))


def plain(old, new):
    before, after = by_url(old), by_url(new)
    return Diff(
        sorted(after.keys() - before.keys()),
        sorted(u for u in after.keys() & before.keys() if after[u] != before[u]),
        sorted(before.keys() - after.keys()),
    )


def by_url(documents):
    found = {}
    for line in b"".join(documents).split(b"\n"):
        if match := re.match(rb"<url><loc>(.*?)</loc>", line):
            found.setdefault(html.unescape(match[1].decode()), set()).add(line)
    return found


def urls(count, first=0):
    return [(f"https://x/{n:05}", "") for n in range(first, first + count)]


def test_added_updated_and_removed():
    """A URL whose line is another is updated; entities are undone once."""
    old = document(("a", ""), ("b", "1"), ("c", ""), ("d", ""))
    new = document(("a", ""), ("b", "2"), ("c", ""), ("e?a=1&amp;b=2&c='\"<>", ""))
    assert compared([old], [new]) == Diff(["e?a=1&amp;b=2&c='\"<>"], ["b"], ["d"])
    assert compared([old], [old]) == compared([], []) == Diff()
    assert not Diff()


def test_an_entry_that_moves_to_another_page_is_no_change():
    whole, left, right = urls(100), urls(60), urls(40, first=60)
    pages = [document(*left), document(*right)]
    assert compared([document(*whole)], pages) == Diff()
    assert compared(pages, [document(*whole)]) == Diff()
    new = [pages[0], document(*right, ("the change that caused it", ""))]
    assert compared([document(*whole)], new) == Diff(
        ["the change that caused it"], [], []
    )


@pytest.mark.parametrize("position", [0, 1, 499, 998, 999])
def test_an_edit_anywhere_is_found(position):
    old, new = urls(1_000), urls(1_000)
    new[position] = (new[position][0], "<priority>0.5</priority>")
    url = old[position][0]
    assert compared([document(*old)], [document(*new)]) == Diff([], [url], [])


ENTRIES = st.lists(
    st.tuples(
        st.sampled_from([f"u{n}" for n in range(12)] + ["a&b", "'", "é"]),
        st.sampled_from(["", "<lastmod>1</lastmod>", "<lastmod>2</lastmod>"]),
    ),
    max_size=14,
)
PAGES = st.lists(ENTRIES.map(lambda entries: document(*entries)), max_size=3)


@given(PAGES, PAGES)
def test_it_agrees_with_a_plain_comparison(old, new):
    assert compared(old, new) == plain(old, new)


@given(ENTRIES, st.integers(0, 14), st.integers(0, 14), ENTRIES)
def test_it_agrees_after_an_edit_of_a_stretch(entries, start, stop, others):
    edited = [*entries[:start], *others[:3], *entries[max(start, stop) :]]
    old, new = [document(*entries)], [document(*edited)]
    assert compared(old, new) == plain(old, new)


def test_memory_does_not_grow_with_the_pages():
    """A new plan of 32 pages takes what one of eight takes."""
    peaks = []
    for pages in (8, 32):
        entries = urls(pages * 200)
        old, new = cut(entries, 200), cut(entries[130:], 170)
        tracemalloc.start()
        found = compared(old, new)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
        assert len(found.removed) == 130
    assert peaks[1] < 2 * peaks[0]


def cut(entries, size):
    starts = range(0, len(entries), size)
    return [document(*entries[start : start + size]) for start in starts]
