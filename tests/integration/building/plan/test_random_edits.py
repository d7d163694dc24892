"""One insert, update or delete touches one page, and those of a split or merge."""

from __future__ import annotations

import os
import random

import pytest

from django_sitemaps_plus.building.build import build
from django_sitemaps_plus.core.key_ranges import in_plan_order
from django_sitemaps_plus.models import Section
from tests.support.shop import limited
from tests.support.testapp.models import Product

from .plans import objects, plan_of, spread

pytestmark = [pytest.mark.database, pytest.mark.django_db]

LIMIT = 10
EDITS = 1_500 if os.environ.get("SOAK") else 60


def insert(source):
    key = source.randrange(1, 600)
    if not Product.objects.filter(pk=key).exists():
        Product.objects.create(pk=key, name="p", slug=f"p-{key}")


def update(source):
    product = source.choice(list(Product.objects.order_by("pk")))
    product.slug = f"p-{product.pk}-{source.randrange(10**6)}"
    product.save()


def delete(source):
    source.choice(list(Product.objects.order_by("pk"))).delete()


def check(section, before, after, version):
    """Return what is wrong after one edit, in words."""
    section.refresh_from_db()
    active = section.pages.filter(state="active")
    pages = in_plan_order(active)  # raises unless they part the key space
    problems = []
    if (pages[0].low, pages[-1].high) != (None, None):
        problems.append("the ends")
    if max(page.entries for page in pages) > LIMIT + LIMIT // 10:
        problems.append("too full")
    if sum(page.entries for page in pages) != Product.objects.count():
        problems.append("lost")
    touched = {n for n in before | after if before.get(n) != after.get(n)}
    allowed = 1 if section.plan_version == version else 3
    if len(touched) > allowed:
        problems.append(f"touched {sorted(touched)}")
    return problems


@pytest.mark.parametrize("shape", ["steady", "growing", "shrinking"])
def test_an_edit_touches_its_page_alone(publish, shape, capsys):
    """Over any history; the ranges always part the key space."""
    seed = random.SystemRandom().randrange(10**9)
    source = random.Random(seed)
    spread(50)
    section = publish(limited(LIMIT))
    weights = {"steady": (2, 2, 2), "growing": (5, 1, 1), "shrinking": (1, 1, 5)}
    bad, reshapes = [], 0
    for number in range(EDITS):
        before = objects(section)
        version = Section.objects.get(pk=section.pk).plan_version
        [act] = source.choices([insert, update, delete], weights[shape])
        if Product.objects.count() < 3:
            act = insert
        act(source)
        build(allow_shrink=True)
        problems = check(section, before, objects(section), version)
        reshapes += section.plan_version != version
        bad += [f"edit {number}: {problem}" for problem in problems]
    figures = f"seed={seed} points={EDITS} kills=0 lost=0 bad={len(bad)}"
    with capsys.disabled():
        print(f"\n  {shape}: {figures} reshapes={reshapes}")  # noqa: T201 - its figures
    assert bad == []
    assert len(plan_of(section)) > 0
