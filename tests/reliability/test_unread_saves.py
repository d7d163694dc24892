"""T24: in tests of a project, and where nothing is built, saves cost what they did."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext

from django_sitemaps_plus import ModelSource, Route
from django_sitemaps_plus.models import Change
from django_sitemaps_plus.testing import temporary_registry
from django_sitemaps_plus.tracking import known
from tests.support.testapp.models import Author

from .tools.shop import IS_SOAK

pytestmark = pytest.mark.django_db(transaction=True)

SAVES = 2_000 if IS_SOAK else 100


class AuthorSource(ModelSource):
    """Of a model that others refer to, so that Django deletes its rows one by one."""

    model = Author
    location = Route("author-detail", pk="pk")


@pytest.fixture(autouse=True)
def two_sections(sections: Any) -> None:
    """Have two sections of the same model, which are not built."""
    for name in ("one", "two"):
        sections.register(name, AuthorSource)


def added_queries(work: Callable[[], object]) -> int:
    """Return how many more queries work takes with the receivers; no change is left."""
    counts = []
    for registered in (temporary_registry(), nullcontext()):
        with registered, CaptureQueriesContext(connection) as queries:
            work()
        counts.append(len(queries))
    assert not Change.objects.exists()
    without, with_us = counts
    return with_us - without


def test_creates_and_deletes_in_tests_of_a_project(configure):
    """With the default of TRACK, in one transaction, as in a TestCase."""
    configure(TRACK=None)

    @transaction.atomic
    def work() -> None:
        for number in range(SAVES):
            Author.objects.create(name=f"author {number}")
        Author.objects.all().delete()

    assert added_queries(work) == 0


@pytest.mark.parametrize("in_transaction", [True, False])
def test_saves_on_a_site_that_is_served_live(in_transaction):
    """Nothing is built, and no engine is notified: that is asked once for all."""
    authors = [Author.objects.create(name=f"author {n}") for n in range(SAVES)]
    known.forget()

    def work() -> None:
        for author in authors:
            author.save()

    act = transaction.atomic(work) if in_transaction else work
    assert added_queries(act) <= 3  # the question, in a savepoint inside a transaction
