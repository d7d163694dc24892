"""The guide to many rows gives the ranges of the speeds that the README has."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

TOP = Path(__file__).parents[2]
README = (TOP / "README.md").read_text("utf-8")
GUIDE = (TOP / "docs" / "how-to" / "serve-many-rows.md").read_text("utf-8")

_MEASURED = re.compile(
    r"^\| (.+) \| (\S+) times faster \| (\S+) times faster \|$", re.M
)


@pytest.mark.parametrize(
    ("form", "source"),
    [
        (r"`Route`, (?!four)", "declarations only"),
        (r"`Route`, four", "the same in four languages, with alternates"),
        (r"`location\(\)`", "`location()`, a method"),
        (r"`get_absolute_url\(\)`", "`get_absolute_url()`"),
        (r"a contrib class", "a contrib class as it is"),
    ],
)
def test_the_guide_has_the_range_of_the_table(form: str, source: str):
    """From the slowest form and database to the fastest."""
    rows = [row for row in _MEASURED.findall(README) if re.match(form, row[0])]
    times = sorted([it for row in rows for it in row[1:]], key=float)
    assert f"| {source} | {times[0]} to {times[-1]} |" in GUIDE
