"""How many files one new row in the middle changes."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from django.conf import settings
from isal import igzip

from django_sitemaps_plus.building.build import build
from django_sitemaps_plus.testing import temporary_source
from tests.benchmarks.building import unbuild
from tests.benchmarks.harness import Contender, Subject, Target
from tests.benchmarks.icv import begin, build_icv, directory, note_save
from tests.benchmarks.sources import DeclaredSource, ProductSitemap
from tests.support.testapp.models import Product

_LIMIT = DeclaredSource.limit


class _SameSizeSitemap(ProductSitemap):
    limit = _LIMIT


def setting(rows: int) -> Iterator[Subject]:
    """Count files of other content, uncompressed; of contrib pages of other rows."""
    key = random.Random(3).randrange(1, rows)
    with temporary_source("products", DeclaredSource):
        yield Subject(
            title=f"Files that one insert at a random key changes, {rows:,} rows",
            note=f"{_LIMIT:,} entries a page, so {rows // _LIMIT:,} pages and an "
            f"index. The new row belongs to page {key // _LIMIT + 1}.",
            unit="files",
            rounds=1,
            warm_ups=0,
            contenders=[
                Contender("contrib", partial(_contrib, key)),
                Contender("icv", partial(_icv, key, rows)),
                Contender("ours", partial(_ours, key)),
            ],
            targets=[Target("ours", plus=2)],
        )
        unbuild()


def _contrib(key: int) -> float:
    return _changed(key, build=lambda: None, contents=_listed)


def _icv(key: int, rows: int) -> float:
    def build() -> None:
        note_save()
        build_icv(Product.objects.count())

    begin(_LIMIT)
    return _changed(key, build=build, contents=partial(_files, directory()))


def _ours(key: int) -> float:
    unbuild()
    files = partial(_files, Path(settings.MEDIA_ROOT))
    return _changed(key, build=build, contents=files)


def _changed(
    key: int, build: Callable[[], None], contents: Callable[[], set[tuple[str, str]]]
) -> float:
    product = Product.objects.get(pk=key)
    product.delete()
    build()
    before = contents()
    Product(
        pk=key, name=product.name, slug=product.slug, updated_at=product.updated_at
    ).save(force_insert=True)
    build()
    return len(contents() - before)


def _listed() -> set[tuple[str, str]]:
    """Return the rows of each page of contrib, by its own paging, as a hash."""
    paginator = _SameSizeSitemap().paginator
    return {
        (str(number), _hash(repr(list(rows.values_list("pk"))).encode()))
        for number in paginator.page_range
        for rows in [paginator.page(number).object_list]
    }


def _files(path: Path) -> set[tuple[str, str]]:
    return {
        (str(file), _hash(igzip.decompress(file.read_bytes())))
        for file in path.rglob("*.gz")
        if "public" not in file.parts  # names there are links to the same files
    }


def _hash(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
