"""T9: whatever is wrong with us, a save goes on, in every kind of transaction."""

from __future__ import annotations

import time
from typing import Any

import pytest

from django_sitemaps_plus.building.refresh import refresh
from django_sitemaps_plus.models import Change
from django_sitemaps_plus.tracking import recording
from tests.testapp.models import Product

from . import saving
from .save_faults import FAULTS, LOSING, SOURCES
from .shop import STEP, PlainSource, add, add_quietly, rename

pytestmark = pytest.mark.django_db(transaction=True)

CONTEXTS = ("autocommit", "atomic", "nested_atomic", "request", "test_case")

#: What no save may take: three times what the promise says, on a busy machine.
MAX_SAVE = 0.9


@pytest.fixture(autouse=True)
def engine(settings: Any) -> None:
    """Have an engine, which is to be told."""
    settings.SITEMAPS_PLUS = {
        **settings.SITEMAPS_PLUS,
        "ENGINES": {"one": {"BACKEND": "django_sitemaps_plus.testing.RecordingEngine"}},
        "NOTIFY": True,
    }


@pytest.fixture(params=["built", "not built"])
def products(request: pytest.FixtureRequest, sections: Any, fault: str) -> None:
    """Have a section; without pages it is recorded because of the engine."""
    recording._planned.clear()
    add_quietly(range(0, 5 * STEP, STEP))
    sections.register("products", PlainSource)
    if request.param == "built":
        refresh()
    sections.unregister("products")
    sections.register("products", SOURCES.get(fault, PlainSource))


@pytest.mark.usefixtures("products")
@pytest.mark.parametrize("fault", FAULTS)
def test_a_save_goes_on(fault: str, request: pytest.FixtureRequest, figures: Any):
    """Rows are committed, more can be asked of the transaction, and nothing is slow."""
    with FAULTS[fault](request.getfixturevalue):
        slowest = max([save_and_look(number) for number in range(len(CONTEXTS))])
    committed = set(Product.objects.values_list("slug", flat=True))
    lost = set.union(*map(slugs, range(len(CONTEXTS) - 1))) - committed
    figures(
        f"saves, {fault}",
        seed="none",
        points=len(CONTEXTS),
        kills=0,
        lost=len(lost),
        bad=0,
        slowest=f"{slowest:.3f}s",
    )
    assert not lost
    assert slowest <= MAX_SAVE
    # Two saves in each context but the last, whose work was undone.
    assert Change.objects.count() == (0 if fault in LOSING else 8)


def slugs(number: int) -> set[str]:
    """Return the slugs that the saves in a context give."""
    return {f"{CONTEXTS[number]}-{number * STEP}", f"new-{number + 1}"}


def save_and_look(number: int) -> float:
    """Rename a product, add one, and ask for both; return the seconds it took."""

    def work() -> None:
        rename([number * STEP], CONTEXTS[number])
        add([number + 1], "new")
        assert slugs(number) <= set(Product.objects.values_list("slug", flat=True))

    began = time.perf_counter()
    getattr(saving, f"in_{CONTEXTS[number]}")(work)
    return time.perf_counter() - began
