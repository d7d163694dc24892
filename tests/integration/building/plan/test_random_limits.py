"""No page is over a hard limit, whatever its keys are and however large its rows."""

from __future__ import annotations

import gzip
import os
import random
from typing import Any

import pytest

from django_sitemaps_plus.building.build import build
from django_sitemaps_plus.core import key_ranges
from django_sitemaps_plus.core.gzip import write_document
from tests.support.documents import all_locs
from tests.support.published import path_of
from tests.support.shop import START, limited
from tests.support.testapp.models import Product

from .plans import plan_of

pytestmark = [pytest.mark.database, pytest.mark.django_db]

EDITS = 1_000 if os.environ.get("SOAK") else 30

#: What a slug is made of; databases have their own opinions of its order.
LETTERS = "abyzABYZ09_-"

#: Entries that a page should have, and that it may.
LIMIT, MOST = 40, 44

#: Fewer large rows are in it than LIMIT, and more small ones.
MAX_BYTES = 4_000


@pytest.fixture
def limit(monkeypatch: Any) -> None:
    """Let a file have few bytes."""
    monkeypatch.setattr(write_document, "__defaults__", (MAX_BYTES,))
    monkeypatch.setattr(key_ranges, "MAX_BYTES", MAX_BYTES)


def row(source: random.Random, key: int) -> Product:
    """Return a product that is small or large, as its neighbours are."""
    first, length = ("zY_9", 60) if key // 600 % 2 else ("ABab", 2)
    word = source.choice(first) + "".join(source.choices(LETTERS, k=length))
    return Product(pk=key, name="p", slug=f"{word}x{key}")


def insert(source: random.Random) -> None:
    """Add a few rows between two of the first ones, or behind them."""
    key = 10 * source.randrange(1, 140)
    taken = set(Product.objects.values_list("pk", flat=True))
    for free in {*range(key + 1, key + 7)} - taken:
        row(source, free).save()


def date(source: random.Random) -> None:
    """Let a few rows grow or shrink by a lastmod."""
    for product in source.sample(list(Product.objects.order_by("pk")), 6):
        product.updated_at = None if product.updated_at else START
        product.save()


def delete(source: random.Random) -> None:
    """Remove a few rows."""
    for product in source.sample(list(Product.objects.order_by("pk")), 4):
        product.delete()


def problems(section: Any) -> list[str]:
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
def test_no_page_is_over_a_limit(publish, limit, key, capsys):
    """From the first plan on, over any history; every row is on one page."""
    seed = random.SystemRandom().randrange(10**9)
    source = random.Random(seed)
    Product.objects.bulk_create([row(source, 10 * number) for number in range(1, 121)])
    section = publish(limited(LIMIT, key=key))
    bad = [f"first plan: {problem}" for problem in problems(section)]
    sizes, entries = set(), set()
    for number in range(EDITS):
        [act] = source.choices([insert, date, delete], (3, 2, 1))
        act(source)
        build(allow_shrink=True)
        bad += [f"edit {number}: {problem}" for problem in problems(section)]
        sizes |= {page.plain_size for page in plan_of(section)}
        entries |= {page.entries for page in plan_of(section)}
    figures = f"seed={seed} points={EDITS} kills=0 lost=0 bad={len(bad)}"
    with capsys.disabled():
        print(f"\n  {key}: {figures} fullest={max(sizes)}, {max(entries)}")  # noqa: T201 - its figures
    assert bad == []
    assert max(sizes) > MAX_BYTES / 2  # its pages are full enough to tell
