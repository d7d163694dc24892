"""What changed between two versions of a page, against a plain comparison of sets."""

from __future__ import annotations

import html
import re
import tracemalloc
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from django_sitemaps_plus.core.diff import Diff, diff

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
    """Return the difference of two lists of documents."""
    return diff(partial(iter, old), partial(iter, new))


def plain(old, new):
    """Return the difference of two sets of documents by their URLs alone."""
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
    """A split is compared as a whole, and so is a merge."""
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
    """Also in the first line and the last."""
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
    """URLs may repeat, move, and differ in anything."""
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
