"""What it adds to a save that its change is recorded, or that nothing reads it."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from statistics import quantiles
from threading import Barrier, Thread

from django.conf import settings
from django.db import connection, transaction
from django.test import override_settings

from django_sitemaps_plus.models import Change
from django_sitemaps_plus.testing import temporary_registry
from tests.benchmarks.building import built
from tests.benchmarks.harness import Contender, Subject, Target
from tests.benchmarks.sources import DeclaredSource
from tests.support.testapp.models import Product

_SAVES = 1_000  # of all writers together
_WRITERS = 50
_ROUNDS = 7
_BARE, _BY_HAND, _UNREAD = "not registered", "an INSERT by hand", "nothing reads it"
_RECORDED = ("a plan", "engines", "a plan and engines")
#: Times that a recorded save may take a bare one, in autocommit and inside atomic().
_TIMES = 1.5 if connection.vendor == "postgresql" else 1.9
_TIMES_INSIDE = 1.2
_TABLE = Change._meta.db_table
_INSERT = f"INSERT INTO {_TABLE} (section, kind, low, high) VALUES (%s, %s, %s, %s)"  # noqa: S608
_ENGINE = {"BACKEND": "django_sitemaps_plus.testing.RecordingEngine"}
_NOTIFIED = {"NOTIFY": True, "ENGINES": {"recording": _ENGINE}}

_Block = Callable[[], AbstractContextManager[object]]


@dataclass(slots=True)
class _Way:
    """One way to save, by some writers at once; p50 and p99 are of the same saves."""

    name: str
    block: _Block
    writers: int
    section: str = ""  # of the products; none where it is not registered
    notifies: bool = False
    p99: list[float] = field(default_factory=list)

    def median(self) -> float:
        """Let each writer save its product; return the median of all saves."""
        seconds: list[float] = []
        with self._site():
            self._save_all(seconds)
        percentiles = quantiles(seconds, n=100)
        self.p99.append(percentiles[98])
        return percentiles[49]

    @contextmanager
    def _site(self) -> Iterator[None]:
        Change.objects.all().delete()
        ours = {**settings.SITEMAPS_PLUS, **(_NOTIFIED if self.notifies else {})}
        with override_settings(SITEMAPS_PLUS=ours), temporary_registry() as registry:
            if self.section:
                registry.register(self.section, DeclaredSource)
            yield

    def _save_all(self, seconds: list[float]) -> None:
        barrier = Barrier(self.writers)

        def write(product: Product) -> None:
            product.save()  # connects, and asks what is read
            barrier.wait()
            for number in range(_SAVES // self.writers):
                product.popularity = number  # MariaDB writes nothing that is the same
                seconds.append(self._save(product))
            connection.close()

        products = Product.objects.filter(pk__lte=self.writers)
        threads = [Thread(target=write, args=[product]) for product in products]
        gc.collect()
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def _save(self, product: Product) -> float:
        began = time.perf_counter()
        with self.block():
            product.save()
            if self.name == _BY_HAND:
                with self.block(), connection.cursor() as cursor:
                    cursor.execute(_INSERT, ["products", "key", str(product.pk), ""])
        return time.perf_counter() - began


def setting(rows: int) -> Iterator[Subject]:
    """Compare the cases in autocommit and in a block; many writers but on SQLite."""
    with built(rows):
        for writers in (1,) if connection.vendor == "sqlite" else (1, _WRITERS):
            yield from _subjects("in autocommit", nullcontext, writers)
            yield from _subjects("inside atomic()", transaction.atomic, writers)
        Change.objects.all().delete()


def _subjects(where: str, block: _Block, writers: int) -> Iterator[Subject]:
    ways = [
        _Way(_BARE, block, writers),
        _Way(_BY_HAND, block, writers),
        _Way(_UNREAD, block, writers, "unbuilt"),
        _Way(_RECORDED[0], block, writers, "products"),
        _Way(_RECORDED[1], block, writers, "unbuilt", notifies=True),
        _Way(_RECORDED[2], block, writers, "products", notifies=True),
    ]
    title = f"A save {where}, {writers} at once"
    medians = [Contender(way.name, way.median) for way in ways]
    later = [Contender(way.name, lambda way=way: way.p99.pop(0)) for way in ways]
    unread = Target(_UNREAD, beside=_BARE, times=1.05)
    times = _TIMES if block is nullcontext else _TIMES_INSIDE
    near = [Target(way, beside=_BARE, times=times) for way in _RECORDED]
    yield Subject(
        title=f"{title}, the median",
        contenders=medians,
        rounds=_ROUNDS,
        targets=[unread, *near, *_targets(writers, plus=0.001)],
    )
    yield Subject(
        title=f"{title}, the 99th of a hundred",
        contenders=later,
        rounds=_ROUNDS,
        targets=list(_targets(writers, plus=0.005)),
        note="Of the same saves.",
    )


def _targets(writers: int, plus: float) -> Iterator[Target]:
    """Yield what the promise has for one save, and how near to the least it is to be.

    No INSERT is faster than one by hand, which takes 1.3 to 2 times a bare save.
    """
    for name in _RECORDED:
        if writers == 1:
            yield Target(name, beside=_BARE, plus=plus)
        yield Target(name, beside=_BY_HAND, times=1.15)
