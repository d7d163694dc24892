"""Tests that what each refresh asks is found by an index, whatever statistics say."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import pytest
from django.db import connection
from django.db.models import F

from django_sitemaps_plus.conf import get_settings
from django_sitemaps_plus.models import Page, PageQuerySet, Section, prepared

pytestmark = pytest.mark.database

#: How databases say that they read all pages.
READS_ALL = re.compile(
    "SCAN sitemaps_plus_page|Seq Scan on sitemaps_plus_page|"
    "'sitemaps_plus_page', '(ALL|index)'"
)

#: Enough for an index to be worth its while.
PAGES = 3_000


@pytest.fixture
def section() -> Section:
    """Give many pages that are dirty; no database has looked at them yet."""
    section = Section.objects.create(site="default", name="products")
    Page.objects.bulk_create(
        Page(section=section, number=n, low=str(n), low_number=n)
        for n in range(1, PAGES + 1)
    )
    return section


def rows_of(name: str, *shape: Any, **values: Any) -> Any:
    """Return what a prepared method makes of its arguments."""
    return getattr(PageQuerySet, name).__wrapped__(Page.objects, *shape, **values)


def explain(sql: str, params: Sequence[Any]) -> str:
    """Return how the database runs a statement."""
    words = "EXPLAIN QUERY PLAN" if connection.vendor == "sqlite" else "EXPLAIN"
    with connection.cursor() as cursor:
        cursor.execute(f"{words} {sql}", params)
        return str(cursor.fetchall())


def analyze() -> None:
    """Have the database look at the pages; by itself it does so at any time."""
    if connection.vendor != "mysql":  # which always does, and here would commit
        with connection.cursor() as cursor:
            cursor.execute("ANALYZE sitemaps_plus_page")


def test_whether_a_page_is_dirty(section):
    """Most refreshes ask in vain, and must not read all pages for that."""
    analyze()  # in the middle of a first build
    section.pages.update(built=F("wanted"))
    rows = rows_of("first_dirty", (section.pk,))
    assert "sitemaps_plus_dirty" in explain(*rows.query.sql_with_params())


def test_the_pages_that_may_be_claimed(section):
    """Those that wait for another attempt are not read again and again."""
    section.pages.filter(number__gt=10).update(built=F("wanted"))
    analyze()
    rows = rows_of("free", (section.pk,), get_settings().lease)
    assert "sitemaps_plus_dirty" in explain(*rows.query.sql_with_params())


def test_the_page_that_owns_a_key(section):
    """It is the one with the next lower bound; all others are left alone."""
    rows = rows_of("owners_from_below", section=section.pk, key=PAGES // 2)
    assert "sitemaps_plus_low" in explain(*rows.query.sql_with_params())


def test_the_index_of_a_site(section):
    """Each flip marks it while others wait, and MariaDB locks what it reads."""
    marked = prepared._update(*rows_of("mark_indexes", site="default"), "default")
    assert not READS_ALL.search(explain(marked.sql, marked.params))
