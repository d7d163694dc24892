"""T5: a builder that was stopped publishes nothing over what another has built.

Builder A is a process that stops itself at a checkpoint. The time of its claims passes,
B builds newer rows, and A goes on.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.db import connection

from django_sitemaps_plus.building.build import build
from django_sitemaps_plus.building.flip import flip
from django_sitemaps_plus.building.store import Result, build_page
from django_sitemaps_plus.models import Page
from django_sitemaps_plus.section import open_section

from .tools.builders import Builder, stopped_at
from .tools.checkpoints import CHECKPOINTS, provoke, reset
from .tools.published import unpublished
from .tools.shop import ALLOW, IS_SOAK, STEP, PlainSource, age_claims, hashes, rename

pytestmark = pytest.mark.django_db(transaction=True)

ROUNDS = 100 if IS_SOAK else 2

#: Checkpoints at which B may be at work on the same page when A goes on.
_SHARED = {
    "claim": "before flip",
    "rows read": "before flip",
    "rendered": "before flip",
    "stored": "before flip",
    "before flip": "before flip",
    "inside split": "inside split",
}


@contextmanager
def stopped_and_late(name: str, number: int) -> Iterator[Builder]:
    """Have a builder that was stopped until its claims passed, and newer rows."""
    with stopped_at(name) as builder:
        age_claims()
        rename([0, STEP, 18 * STEP, 30 * STEP], f"newer-{number}")
        yield builder


def other_has_published(name: str, number: int) -> tuple[int, bool]:
    """A stops, B builds and publishes, A goes on."""
    with stopped_and_late(name, number) as a:
        build(**ALLOW)
        before = hashes()
        a.wake()
        refused = a.finish()
    return refused, hashes() == before


def other_is_at_work(name: str, number: int) -> tuple[int, bool]:
    """A stops, B claims and builds and stops, A goes on, then B."""
    with stopped_and_late(name, number) as a:
        Page.objects.update(attempts=0)  # so that B takes them all at once, too
        before = hashes()
        with stopped_at(_SHARED[name]) as b:
            a.wake()
            refused = a.next_refused()
            is_same = hashes() == before
            b.wake()
            b.finish()
        a.finish()
    return refused, is_same


@pytest.mark.parametrize("name", CHECKPOINTS)
def test_a_stopped_builder_publishes_nothing(name, sections, figures):
    """What B has published stays, and the flip of A is refused."""
    sections.register("products", PlainSource)
    bad, lost = [], []
    for number in range(ROUNDS):
        reset()
        provoke(name, number)
        is_shared = number % 2 and name in _SHARED
        play = other_is_at_work if is_shared else other_has_published
        refused, is_same = play(name, number)
        bad += [] if refused and is_same else [f"round {number}"]
        lost += unpublished()
    figures(f"fencing at {name!r}", points=ROUNDS, lost=lost, bad=bad)


@pytest.fixture
def claimed(sections) -> Page:
    sections.register("products", PlainSource)
    reset()
    rename([0], "edit")
    Page.objects.filter(section__name="products", low=None).update(wanted=99)
    (page,) = Page.objects.claim([Page.objects.get(wanted=99).section_id])
    return page


def test_giving_up_leaves_the_claim_of_another(claimed):
    """Who lost a page and fails does not set it free."""
    age_claims()
    (other,) = Page.objects.claim([claimed.section_id])
    assert other.pk == claimed.pk
    Page.objects.release([claimed], "failed late", is_to_blame=True)
    Page.objects.release([claimed])
    assert Page.objects.get(pk=claimed.pk).token == other.token
    new = build_page(other, open_section("products"))
    assert len(flip([Result(other, new)])) == 1


def test_a_version_that_is_built_is_not_built_over(claimed):
    """A flip is refused where the page is as new as what it would publish."""
    Page.objects.filter(pk=claimed.pk).update(built=claimed.wanted)
    new = build_page(claimed, open_section("products"))
    assert flip([Result(claimed, new)]) == []


def test_two_builders_never_take_the_same_page(claimed):
    """Who finds a page free, and then taken, leaves it."""
    Page.objects.filter(pk=claimed.pk).update(token="", claimed_at=None)
    others: list[Page] = []

    def before_update(execute: Any, sql: str, *rest: Any) -> Any:
        if sql.startswith("UPDATE") and not others:
            others.append(claimed)
            others[:] = Page.objects.claim([claimed.section_id])
        return execute(sql, *rest)

    with connection.execute_wrapper(before_update):
        mine = Page.objects.claim([claimed.section_id])
    assert [page.pk for page in others] == [claimed.pk]
    assert mine == []
