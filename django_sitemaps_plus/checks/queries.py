"""Checks of what a source queries: whether it can be compiled, and its joins."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.core.checks import CheckMessage

from django_sitemaps_plus.conf import sample_site
from django_sitemaps_plus.core.key_ranges import KeyRange
from django_sitemaps_plus.rendering import reading
from django_sitemaps_plus.sources import ModelSource
from django_sitemaps_plus.sources.dependencies import many_joins
from django_sitemaps_plus.sources.rows import listed_rows, page_query

from .messages import warning
from .watching import check_tree, check_unwatched


def check_query(source: ModelSource) -> Iterator[CheckMessage]:
    """Compile the query, since an expression shows its faults nowhere else."""
    site = sample_site()
    with reading(source, site):
        rows = listed_rows(source).query
        page = page_query(source, KeyRange(), site).query
        str(page)
    yield from check_unwatched(source, rows, page)
    yield from _repeated(rows, page)
    yield from check_tree(source, rows)


def _repeated(rows: Any, page: Any) -> Iterator[CheckMessage]:
    for table in many_joins(page) and many_joins(rows):
        message = f"get_queryset() joins {table}, and lists a row for each of its rows."
        hint = "Add .distinct(), or filter by Exists(). Each URL is written once."
        yield warning(32, message, hint)
