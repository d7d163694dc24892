"""What it adds to a save that its commit wakes the workers, who may be out of reach."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from statistics import median
from typing import Any

from django.conf import settings
from django.db import transaction
from django.test import override_settings

from django_sitemaps_plus import receivers
from django_sitemaps_plus.executors.base import get_executor
from django_sitemaps_plus.models import Change
from tests.benchmarks.building import built
from tests.benchmarks.harness import Contender, Subject, Target
from tests.support.servers.chaos import ChaosProxy, start_chaos
from tests.support.servers.valkey import start_valkey
from tests.support.servers.workers import Broker, messages_to
from tests.support.testapp.models import Product

_SAVES = 1_000
_CELERY = "django_sitemaps_plus.tasks.CeleryExecutor"

_WITHOUT, _WITH = "nobody listens", "Celery listens"
_HOLE = "the broker black-holed"

# A message takes about as long, and a save that follows a pause is slower by itself.
_PAUSE_SECONDS = 0.015
_PAUSED_SAVES = 200

_Figure = Callable[[list[float]], float]


@dataclass(slots=True)
class _Way:
    """One way to be woken; its saves are timed one by one, once a round."""

    name: str
    around: Callable[[], AbstractContextManager[object]]
    after: Callable[[], object] = bool
    seconds: list[float] = field(default_factory=list)

    def save(self, products: list[Product]) -> None:
        Change.objects.all().delete()
        gc.collect()
        with self.around():
            self.seconds = [self._save(product) for product in products]

    def _save(self, product: Product) -> float:
        began = time.perf_counter()
        with transaction.atomic():
            product.save()
        seconds = time.perf_counter() - began
        self.after()
        return seconds


def setting(rows: int) -> Iterator[Subject]:
    """Compare saves in blocks of their own; each figure is of the same saves."""
    with (
        start_valkey() as server,
        start_chaos(server.port) as proxy,
        messages_to(Broker(f"redis://127.0.0.1:{proxy.port}/0")),
        built(rows),
    ):
        receivers.connect()
        products = list(Product.objects.filter(pk__lte=_SAVES))
        in_a_row = [
            _Way(_WITHOUT, _unlistened),
            _Way(_WITH, _listened),
            _Way(_HOLE, lambda: _black_holed(proxy)),
        ]
        yield _each_told(products[:_PAUSED_SAVES])
        yield from _subjects(in_a_row, products)
        Change.objects.all().delete()


def _each_told(products: list[Product]) -> Subject:
    ways = [
        _Way(_WITHOUT, _unlistened, lambda: time.sleep(_PAUSE_SECONDS)),
        _Way(_WITH, _listened, _forget),
    ]
    return _subject(
        "A save in a block, each with a wake-up of its own, the median",
        [_first(way, products) for way in ways],
        [Target(_WITH, beside=_WITHOUT, plus=0.001)],
        note="A thread sends the message; it is waited for between saves, unmeasured.",
        rounds=9,
        warm_ups=1,
    )


def _subjects(ways: list[_Way], products: list[Product]) -> Iterator[Subject]:
    """Yield one that saves, and others that look at the same saves in other ways."""
    yield _subject(
        f"A save in a block, {_SAVES:,} in a row, the median",
        [_first(way, products) for way in ways],
        [Target(way.name, beside=_WITHOUT, plus=0.001) for way in ways[1:]],
        note="One wake-up speaks for those of the next half second. The next two "
        "tables are of the saves of the last round.",
        rounds=5,
        warm_ups=1,
    )
    yield _subject(
        "The same, the longest save",
        [_again(way, max) for way in ways],
        [Target(_HOLE, plus=0.3)],
    )
    yield _subject(
        "The same, all of them together",
        [_again(way, sum) for way in ways],
        [Target(_HOLE, beside=_WITHOUT, plus=0.3)],
    )


def _subject(
    title: str, contenders: list[Contender], targets: list[Target], **rest: Any
) -> Subject:
    given = {"rounds": 1, "warm_ups": 0, **rest}
    return Subject(title=title, contenders=contenders, targets=targets, **given)


def _first(way: _Way, products: list[Product]) -> Contender:
    def measure() -> float:
        way.save(products)
        return median(way.seconds)

    return Contender(way.name, measure)


def _again(way: _Way, figure: _Figure) -> Contender:
    return Contender(way.name, lambda: figure(way.seconds))


def _unlistened() -> AbstractContextManager[object]:
    return override_settings(SITEMAPS_PLUS=dict(settings.SITEMAPS_PLUS))


@contextmanager
def _listened() -> Iterator[None]:
    """Let Celery workers be told, by an executor that has told nobody yet."""
    asked = {**settings.SITEMAPS_PLUS, "EXECUTOR": _CELERY}
    with override_settings(SITEMAPS_PLUS=asked):
        _forget()
        yield


def _forget() -> None:
    """Send what waits, and let the next save send a message of its own."""
    wakeups = get_executor().wakeups  # type: ignore[attr-defined]
    wakeups.wait(5)
    wakeups._due.clear()
    wakeups._paused_until = 0.0


@contextmanager
def _black_holed(proxy: ChaosProxy) -> Iterator[None]:
    before = proxy.accepted
    proxy.black_hole()
    try:
        with _listened():
            yield
    finally:
        proxy.heal()
    if proxy.accepted == before:
        raise RuntimeError("Nobody tried to reach the broker.")
