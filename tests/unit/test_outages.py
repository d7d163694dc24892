"""Errors are told from outages, and named with what helps."""

import pytest
from django.db import DataError, OperationalError, ProgrammingError

from django_sitemaps_plus.outages import in_one_line


@pytest.mark.parametrize(
    ("error", "is_advised"),
    [
        (ProgrammingError('relation "shop" does not exist'), True),
        (OperationalError("no such table: shop"), True),
        (OperationalError("canceling statement due to statement timeout"), False),
        (DataError("division by zero"), False),
    ],
)
def test_migrate_is_advised_only_where_a_table_may_be_missing(error, is_advised):
    assert ("manage.py migrate" in in_one_line(error)) is is_advised
