"""T6 between the steps: a change that comes in while pages are built is not lost.

At each checkpoint of a build rows are saved and another process takes the changes.
These sources have no lastmod, so nothing but the versions of the pages saves them.
"""

import random
from collections.abc import Callable
from functools import partial

import pytest

from django_sitemaps_plus.building.build import build
from django_sitemaps_plus.models import Change, Page, Section
from django_sitemaps_plus.models.clock import Now
from django_sitemaps_plus.section import open_section
from django_sitemaps_plus.tracking import locating
from django_sitemaps_plus.tracking.collecting import take_changes
from django_sitemaps_plus.tracking.schedule import notice
from tests.support.testapp.models import Product

from .tools.checkpoints import CHECKPOINTS, checkpoint, provoke, reset
from .tools.published import unpublished
from .tools.shop import (
    ALLOW,
    IS_SOAK,
    STEP,
    PlainSource,
    add,
    add_quietly,
    publish,
    rename,
)

pytestmark = pytest.mark.django_db(transaction=True)

ROUNDS = 30 if IS_SOAK else 1


def disturb(chance: random.Random, number: int) -> None:
    """Rename, delete and add rows all over the section, and take notice of it."""
    keys = list(Product.objects.order_by("pk").values_list("pk", flat=True))
    rename(chance.sample(keys, 8), f"while-{number}")
    Product.objects.get(pk=chance.choice(keys)).delete()
    between = [key + 1 for key in chance.sample(keys, 2) if key + 1 not in keys]
    add([keys[-1] + STEP, *between], f"came-{number}")
    section = Section.objects.annotate(now=Now()).get(name="products")
    notice(open_section(section))


@pytest.mark.parametrize("name", CHECKPOINTS)
def test_changes_during_a_build_are_published(name, sections, figures):
    """One more refresh at most, and what is published is the table."""
    seed = random.SystemRandom().randrange(10**9) if IS_SOAK else 1  # mutants die
    chance = random.Random(seed)
    sections.register("products", PlainSource)
    lost = []
    for number in range(ROUNDS):
        reset()
        provoke(name, number)
        met: list[bool] = []

        def reached(number: int = number, met: list[bool] = met) -> None:
            met.append(True)
            disturb(chance, number)

        with checkpoint(name, reached):
            build(**ALLOW)
        assert met, f"no build gets to {name!r}"
        build(**ALLOW)
        lost += unpublished()
    figures(f"changes at {name!r}", seed=seed, points=ROUNDS, lost=lost)


def test_a_key_located_before_a_split_marks_the_page_that_owns_it(sections):
    """Marking checks the version of the plan that it located with."""
    publish(30)
    key = 18 * STEP
    rename([key], "edited")
    locate = locating.locate
    others: list[Callable[[], object]] = [partial(split_by_another, locate)]

    def late(*args, **kwargs):
        located = locate(*args, **kwargs)
        if others:
            others.pop()()
        return located

    section = Section.objects.get(name="products")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(locating, "locate", late)
        take_changes(open_section(section))
    owner = section.pages.filter(low_number__lte=key).latest("low_number")
    assert owner in Page.objects.dirty()
    build()
    assert unpublished() == []


def split_by_another(locate: Callable[..., object]) -> None:
    """Fill the page of the key, and have another builder split it and finish."""
    add_quietly(range(11 * STEP + 1, 11 * STEP + 9), "more")
    Change.objects.all().delete()
    Page.objects.filter(section__name="products").update(wanted=99)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(locating, "locate", locate)
        build()
    assert not Page.objects.dirty().exists()
