"""The page of rules has each rule, and says which of them are warnings."""

from __future__ import annotations

import re
from pathlib import Path

from django_sitemaps_plus.core.validation import WARNINGS, WORDS

PAGE = Path(__file__).parents[4] / "docs" / "reference" / "sitemap-rules.md"


def test_every_rule_is_documented():
    """Each once, warnings in italics."""
    found = re.findall(r"^\| ([^|]*`[^|]*) \|", PAGE.read_text("utf-8"), re.MULTILINE)
    assert sorted(code.strip("*`") for code in found) == sorted(WORDS)
    assert {code.strip("*`") for code in found if code[0] == "*"} == WARNINGS
