"""Over any history no page is over a limit, and an edit touches its page alone."""

from __future__ import annotations

import gzip
import os
import random
from typing import Any

import pytest

from django_sitemaps_plus.building.build import build
from django_sitemaps_plus.core import key_ranges
from django_sitemaps_plus.core.gzip import write_document
from django_sitemaps_plus.models import Section
from tests.support.documents import all_locs
from tests.support.published import path_of
from tests.support.shop import START, limited
from tests.support.testapp.models import Product

from .plans import objects, plan_of

pytestmark = pytest.mark.database

EDITS = 1_500 if os.environ.get("SOAK") else 60

#: What a slug is made of; databases have their own opinions of its order.
LETTERS = "abyzABYZ09_-"

#: Entries that a page should have, and that it may.
LIMIT, MOST = 40, 44

#: Fewer large rows are in it than LIMIT, and more small ones.
MAX_BYTES = 4_000


@pytest.fixture(autouse=True)
def small_files(monkeypatch: Any) -> None:
    monkeypatch.setattr(write_document, "__defaults__", (MAX_BYTES,))
    monkeypatch.setattr(key_ranges, "MAX_BYTES", MAX_BYTES)


def row(source: random.Random, key: int) -> Product:
    """Return a product that is small or large, as its neighbours are."""
    first, length = ("zY_9", 60) if key // 600 % 2 else ("ABab", 2)
    word = source.choice(first) + "".join(source.choices(LETTERS, k=length))
    return Product(pk=key, name="p", slug=f"{word}x{key}")


def insert(source: random.Random) -> None:
    """Add a row between two of the first ones, or behind them."""
    taken = set(Product.objects.values_list("pk", flat=True))
    row(source, source.choice(sorted({*range(1, 1_400)} - taken))).save()


def date(source: random.Random) -> None:
    """Let a row grow or shrink by a lastmod."""
    product = source.choice(list(Product.objects.order_by("pk")))
    product.updated_at = None if product.updated_at else START
    product.save()


def delete(source: random.Random) -> None:
    source.choice(list(Product.objects.order_by("pk"))).delete()


def problems(section: Section) -> list[str]:
    """Return what is wrong after an edit, in words."""
    pages = plan_of(section)  # raises unless they part the key space
    pages = [page for page in pages if page.object]
    served = [gzip.decompress(path_of(page).read_bytes()) for page in pages]
    slugs = sorted(url.split("/")[-2] for url in all_locs(served))
    found = []
    if max(map(len, served)) > MAX_BYTES:
        found.append("too many bytes")
    if [page.plain_size for page in pages] != list(map(len, served)):
        found.append("another size")
    if max(page.entries for page in pages) > MOST:
        found.append("too many entries")
    if slugs != sorted(Product.objects.values_list("slug", flat=True)):
        found.append("lost")
    return found


@pytest.mark.parametrize("key", ["pk", "slug"])
@pytest.mark.parametrize("weights", [(3, 2, 1), (1, 1, 5)], ids=["grows", "shrinks"])
def test_any_history(publish, key, weights, capsys):
    """Every row is on one page, from the first plan on."""
    seed = random.SystemRandom().randrange(10**9)
    source = random.Random(seed)
    Product.objects.bulk_create([row(source, 10 * number) for number in range(1, 121)])
    section = publish(limited(LIMIT, key=key))
    bad, fullest = problems(section), 0
    for number in range(EDITS):
        before, version = objects(section), section.plan_version
        [act] = source.choices([insert, date, delete], weights)
        act(source)
        build(allow_shrink=True)
        section.refresh_from_db()
        found, after = problems(section), objects(section)
        touched = [n for n in before | after if before.get(n) != after.get(n)]
        if section.plan_version == version and len(touched) > 1:
            found.append(f"touched {touched}")
        bad += [f"edit {number}: {problem}" for problem in found]
        fullest = max([fullest, *[page.plain_size for page in plan_of(section)]])
    figures = f"seed={seed} points={EDITS} kills=0 lost=0 bad={len(bad)}"
    with capsys.disabled():
        print(f"\n  {key}: {figures} fullest={fullest}")  # noqa: T201 - its figures
    assert bad == []
    assert fullest > MAX_BYTES / 2  # its pages are full enough to tell
