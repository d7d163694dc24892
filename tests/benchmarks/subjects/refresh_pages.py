"""What the number of pages adds to a refresh after one edit or one deletion."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from django_sitemaps_plus.registry import registry
from django_sitemaps_plus.testing import temporary_registry
from tests.benchmarks.building import build_all, hide, show, unbuild
from tests.benchmarks.changing import edit, listening, refresh_one
from tests.benchmarks.harness import Contender, Subject, Target, timed
from tests.benchmarks.sources import DeclaredSource
from tests.support.builds import build_and_relay
from tests.support.testapp.models import Product

_FEW, _MANY = 100, 10_000


@dataclass(frozen=True, slots=True)
class _Variant:
    """A section of pages of the same size, alone in its site."""

    pages: int
    size: int  # entries a page
    source: DeclaredSource
    entries: int

    @property
    def name(self) -> str:
        return f"{self.pages:,} pages"

    def build(self) -> None:
        self.choose()
        build_all(self.entries)
        hide(self.name)

    def choose(self) -> None:
        """Let this be the section that the site has."""
        if "products" in registry:
            registry.unregister("products")
        self.source.limit = self.size
        registry.register("products", self.source)

    @property
    def key(self) -> int:
        """Of a row at the end of the few: SQLite reads on to the last row of the
        section, if there is a bound in its query.
        """
        return self.size * _FEW - self.size

    def edits(self, heard: list[Any]) -> Contender:
        """Time what follows an edit, always of the same row: a refresh looks back."""

        def before() -> None:
            self.choose()
            show(self.name)
            edit(self.key)

        return self._timed(before, heard)

    def deletions(self, heard: list[Any]) -> Contender:
        """Time what follows a deletion; the row is put back after each."""
        product = Product.objects.get(pk=self.key)

        def before() -> None:
            self.choose()
            show(self.name)
            Product.objects.get(pk=self.key).delete()

        def put_back() -> None:
            product.save()
            build_and_relay(waits=False)

        return self._timed(before, heard, put_back)

    def _timed(
        self,
        before: Callable[[], None],
        heard: list[Any],
        after: Callable[[], None] = bool,
    ) -> Contender:
        def action() -> None:
            refresh_one(heard)

        inner = timed(self.name, action, before=before)

        def measure() -> float:
            seconds = inner.measure()
            after()
            hide(self.name)
            return seconds

        return Contender(self.name, measure)


def setting(rows: int) -> Iterator[Subject]:
    """Compare few pages with many; each holds as many entries."""
    size = rows // _MANY
    some = _FEW * size
    few = _Variant(_FEW, size, DeclaredSource(some), some)
    many = _Variant(_MANY, size, DeclaredSource(), rows)
    with temporary_registry(), listening() as heard:
        unbuild()
        few.build()
        many.build()
        # First, while both know of all edits.
        yield _subject("deletion", size, [few.deletions(heard), many.deletions(heard)])
        yield _subject("edit", size, [few.edits(heard), many.edits(heard)])
        unbuild()


def _subject(change: str, size: int, contenders: list[Contender]) -> Subject:
    few, many = contenders
    return Subject(
        title=f"A refresh after one {change}, pages of {size} entries",
        note="The index lists all pages, and is rendered and stored as well.",
        rounds=21,
        warm_ups=2,
        contenders=contenders,
        targets=[Target(many.name, beside=few.name, plus=0.020)],
    )
