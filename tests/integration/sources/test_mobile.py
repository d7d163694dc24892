"""Mobile sitemaps, a historic format: one flag marks each entry of a source."""

from __future__ import annotations

from typing import Any

import pytest
from django.utils import timezone
from lxml import etree

from django_sitemaps_plus import Entry, Source, ViewSource
from django_sitemaps_plus.core.documents import NAMESPACES
from django_sitemaps_plus.core.validation import Problem
from django_sitemaps_plus.core.validation.checker import Checker
from tests.support.rendered import plain, render
from tests.support.shop import limited, make_products

MARK = f"{{{NAMESPACES['mobile']}}}mobile"


class Entries(Source):
    """Two entries."""

    def entries(self, origin: str) -> Any:
        """Yield them."""
        return [Entry(f"{origin}/{name}/") for name in "ab"]


class Views(ViewSource):
    """Two views, in two languages."""

    views = ("home", "about")
    languages = ("en", "de")


def marks(source: Any) -> list[int]:
    """Return how many marks each entry of a page has."""
    root = etree.fromstring(plain(render(source)))
    return [len(entry.findall(MARK)) for entry in root]


@pytest.mark.parametrize(
    ("source", "entries"), [(limited(10), 3), (Entries, 2), (Views, 4)]
)
def test_the_flag_marks_each_entry(source, entries):
    """Without it nothing is written, not even the namespace."""
    make_products(3)
    assert marks(type("Mobile", (source,), {"mobile": True})) == [1] * entries
    assert NAMESPACES["mobile"].encode() not in plain(render(source))


def test_a_check_only_warns_of_the_mark():
    """It is read, as an element that engines ignore."""
    content = plain(render(type("Mobile", (Entries,), {"mobile": True})))
    problems: list[Problem] = []
    Checker(problems.append, timezone.now()).check("a.xml", iter([content]))
    assert [problem.rule for problem in problems] == ["tag-ignored"] * 2
