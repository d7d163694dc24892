"""Queries that are compiled once."""

from __future__ import annotations

from typing import Any

import pytest
from django.db.models import QuerySet, Sum
from django.db.models.sql.compiler import SQLCompiler

from django_sitemaps_plus import statements
from django_sitemaps_plus.models import Page, Section
from django_sitemaps_plus.statements import fetch

pytestmark = pytest.mark.django_db


def entries_of(site: str, low: int) -> QuerySet[Page, Any]:
    pages = Page.objects.filter(section__site=site, number__gte=low)
    rows = pages.values("number").annotate(total=Sum("entries")).order_by("number")
    return rows.values_list("number", "total")


@pytest.fixture
def pages() -> None:
    """Store three pages of one site."""
    statements._compile.cache_clear()
    section = Section.objects.create(site="here", name="products")
    for number in (1, 2, 3):
        Page.objects.create(section=section, number=number, entries=10 * number)


def test_rows_are_those_of_the_query(pages):
    """Whatever its arguments are."""
    assert fetch(entries_of, "here", 1) == list(entries_of("here", 1))
    assert fetch(entries_of, "here", 3) == [(3, 30)]
    assert fetch(entries_of, "there", 1) == []


def test_a_query_is_compiled_once(pages, monkeypatch):
    """And what it finds is never kept."""
    fetch(entries_of, "here", 3)

    def refuse(self: Any, *args: Any, **kwargs: Any) -> None:
        raise AssertionError("it is compiled again")

    with monkeypatch.context() as patch:
        patch.setattr(SQLCompiler, "as_sql", refuse)
        assert fetch(entries_of, "here", 3) == [(3, 30)]
    Page.objects.filter(number=3).update(entries=31)
    assert fetch(entries_of, "here", 3) == [(3, 31)]
