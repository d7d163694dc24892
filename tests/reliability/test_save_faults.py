"""T9: whatever is wrong with us, a save goes on, in every kind of transaction."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from django.db import transaction

from django_sitemaps_plus.building.build import build
from django_sitemaps_plus.models import Change
from django_sitemaps_plus.tracking import known
from tests.support.testapp.models import Product

from .tools import saving
from .tools.save_faults import FAULTS, LOSING, SOURCES
from .tools.saving import MAX_SAVE, TRIES, forget_failures, quickest
from .tools.shop import STEP, PlainSource, add, add_quietly, rename

pytestmark = [pytest.mark.database, pytest.mark.django_db(transaction=True)]

CONTEXTS = ("autocommit", "atomic", "nested_atomic", "request", "test_case")

#: Of products; each try has its own.
KEYS = range(0, TRIES * len(CONTEXTS) * STEP, STEP)


@pytest.fixture(autouse=True)
def engine(configure: Any) -> None:
    """Have an engine, which is to be told."""
    configure(
        ENGINES={"one": {"BACKEND": "django_sitemaps_plus.testing.RecordingEngine"}},
        NOTIFY=True,
    )


@pytest.fixture(params=["built", "not built", "not read", "in a test run"])
def changes(
    request: pytest.FixtureRequest, sections: Any, fault: str, configure: Any
) -> int:
    """Have a section; return how many changes are recorded of a save.

    Without pages they are, because of the engine; else of a section that is not read,
    and in the tests of a project, there are none.
    """
    if (request.param, fault) == ("in a test run", "no_sites"):
        pytest.skip("the fault takes a process that runs no tests")
    known.forget()
    add_quietly(KEYS)
    sections.register("products", PlainSource)
    if request.param in ("built", "in a test run"):
        build()
    sections.unregister("products")
    sections.register("products", SOURCES.get(fault, PlainSource))
    if request.param == "not read":
        configure(ENGINES={}, NOTIFY=False)
    elif request.param == "in a test run":
        configure(TRACK=None)
    is_read = request.param in ("built", "not built")
    return 1 if is_read and fault not in LOSING else 0


@pytest.mark.parametrize("fault", FAULTS)
def test_a_save_goes_on(
    fault: str, changes: int, request: pytest.FixtureRequest, figures: Any
):
    """Rows are committed, more can be asked of the transaction, and nothing is slow."""
    keys, tried, followed = iter(KEYS), [], []

    def save(context: str) -> float:
        tried.append((context, next(keys)))
        return save_and_look(*tried[-1], then=lambda: followed.append(context))

    with FAULTS[fault](request.getfixturevalue):
        slowest = max([quickest(partial(save, context)) for context in CONTEXTS])
    committed = set(Product.objects.values_list("slug", flat=True))
    # What is saved in the last one is undone.
    kept = [(context, key) for context, key in tried if context != "test_case"]
    lost = set().union(*[slugs(context, key) for context, key in kept]) - committed
    figures(
        f"saves, {fault}", points=len(tried), lost=len(lost), slowest=f"{slowest:.3f}s"
    )
    assert not lost
    assert followed == [context for context, _ in tried]
    assert slowest <= MAX_SAVE
    assert Change.objects.count() == changes * 2 * len(kept)


def slugs(context: str, key: int) -> set[str]:
    """Return the slugs that the saves in a context give."""
    return {f"{context}-{key}", f"new-{key + 1}"}


def save_and_look(context: str, key: int, then: Callable[[], None]) -> float:
    """Rename a product, add one, and ask for both; return the seconds it took.

    What the user wants done after the commit is done, whatever else comes after it.
    """

    def work() -> None:
        rename([key], context)
        add([key + 1], "new")
        assert slugs(context, key) <= set(
            Product.objects.values_list("slug", flat=True)
        )
        transaction.on_commit(then)

    forget_failures()
    began = time.perf_counter()
    getattr(saving, f"in_{context}")(work)
    return time.perf_counter() - began
