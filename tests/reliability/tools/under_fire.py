"""Who changes rows, who tells of it, and what befalls them."""

from __future__ import annotations

import os
import random
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import cycle
from typing import Any

from django.db import transaction

from django_sitemaps_plus import tasks
from django_sitemaps_plus.models import Change, Delivery, Page, Publication
from django_sitemaps_plus.notifications.http import client as http
from tests.integration.notifications.engines import KEY
from tests.support.configuring import configure
from tests.support.testapp.models import Product

from .processes import end, fork
from .shop import ORIGIN, STEP, PlainSource, add, rename

#: Changes in one transaction.
CHANGES = 5

#: Seconds that an engine has to answer.
ENGINE_SECONDS = 0.3

#: Seconds between two kills.
BETWEEN = (0.05, 0.3)


class FireSource(PlainSource):
    """Pages of more rows, since many rows change."""

    limit = 100


class _UndoneError(Exception):
    """Rolls a transaction back."""


def tell_indexnow(settings: Any, url: str, **times: float) -> None:
    """Have a local engine told."""
    backend = "django_sitemaps_plus.notifications.IndexNow"
    options = {"key": KEY, "endpoint": f"{url}/indexnow"}
    configure(
        settings,
        ENGINES={"indexnow": {"BACKEND": backend, "OPTIONS": options}},
        NOTIFY=True,
        **times,
    )


def tell_soon(settings: Any, url: str) -> None:
    """Have a local engine told at once, and again soon after it failed."""
    times = {
        "NOTIFY_DELAY_SECONDS": 0,
        "NOTIFY_INTERVAL_SECONDS": 0,
        "NOTIFY_RETRY_SECONDS": 0.1,
    }
    tell_indexnow(settings, url, **times)


def write(transactions: Iterable[int]) -> None:
    """Make the changes of transactions; one in ten is rolled back."""
    for number in transactions:
        with suppress(_UndoneError), transaction.atomic():
            _change(_keys(number))
            if _is_undone(number):
                raise _UndoneError


def expected(transactions: Iterable[int]) -> set[str]:
    """Return the URLs that engines are to hear of, and no others."""
    done = [number for number in transactions if not _is_undone(number)]
    slugs = [slug for number in done for key in _keys(number) for slug in _slugs(key)]
    return {f"{ORIGIN}/products/{slug}/" for slug in slugs}


def _is_undone(transaction: int) -> bool:
    return transaction % 10 == 0


def _keys(transaction: int) -> range:
    first = (transaction * CHANGES + 1) * STEP  # MySQL knows no key 0
    return range(first, first + CHANGES * STEP, STEP)


def _change(keys: Iterable[int]) -> None:
    """Delete one product of seven, add one behind another, rename the rest."""
    by_kind = [[key for key in keys if _kind(key) == kind] for kind in range(3)]
    for product in Product.objects.filter(pk__in=by_kind[0]):
        product.delete()
    add([key + 1 for key in by_kind[1]], "added")
    rename(by_kind[2], "renamed")


def _kind(key: int) -> int:
    return min(key // STEP % 7, 2)


def _slugs(key: int) -> list[str]:
    """Return what a change leaves behind, or brings."""
    found = [f"p-{key}"], [f"added-{key + 1}"], [f"p-{key}", f"renamed-{key}"]
    return found[_kind(key)]


def relay() -> None:
    """Build and tell what there is, again and again."""
    http.MAX_SECONDS = ENGINE_SECONDS
    while True:
        tasks.notify()
        tasks.refresh()
        time.sleep(0.02)


@dataclass
class Relays:
    """Processes that build and tell, and are killed at any time."""

    count: int = 3
    kills: int = 0
    ended: int = 0
    _pids: list[int] = field(default_factory=list)

    def start(self) -> None:
        """Start those that do not run."""
        while len(self._pids) < self.count:
            self._pids.append(fork(relay))

    def kill(self, number: int) -> None:
        """Kill one of them."""
        self.kills += 1
        self.ended += not os.WIFSIGNALED(end(self._pids.pop(number)))

    def stop(self) -> None:
        """Kill all."""
        while self._pids:
            self.kill(0)


@dataclass
class Fate:
    """What befalls servers, one of them at a time."""

    chance: random.Random
    blows: dict[str, tuple[Callable[[], object], Callable[[], object]]]
    met: Counter[str] = field(default_factory=Counter)
    _mend: Callable[[], object] | None = None

    def __post_init__(self) -> None:
        """Choose an order; in turn, so that a run of some seconds has every kind."""
        names = self.chance.sample(sorted(self.blows), len(self.blows))
        self._names: Iterator[str] = cycle(names)

    def strike(self) -> None:
        """Deal a blow now and then, and mend it a while later."""
        if self._mend is not None:
            if self.chance.random() < 0.3:
                self.mend()
        elif self.chance.random() < 0.15:
            name = next(self._names)
            blow, self._mend = self.blows[name]
            blow()
            self.met[name] += 1

    def is_complete(self) -> bool:
        """Return whether each kind of blow was dealt."""
        return set(self.met) == set(self.blows)

    def mend(self) -> None:
        """Have all servers run."""
        if self._mend is not None:
            self._mend()
            self._mend = None


def is_drained() -> bool:
    """Return whether nothing is left to notice, to build, to work out or to tell."""
    rows = (
        Change.objects.all(),
        Page.objects.dirty(),
        Publication.objects.all(),
        Delivery.objects.waiting(),
    )
    return not any([found.exists() for found in rows])
