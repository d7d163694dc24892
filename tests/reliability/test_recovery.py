"""T10: when what was lost is back, work goes on by itself, and soon.

Broker and cache are one server here, so that both are lost together.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass

import pytest

from django_sitemaps_plus.building.build import build
from django_sitemaps_plus.models import Page
from tests.support.servers.fixtures import celery_on
from tests.support.servers.programs import wait_until
from tests.support.servers.running import SWEEP_SECONDS, sweeping, working
from tests.support.servers.valkey import Valkey
from tests.support.servers.workers import Broker, Worker
from tests.support.testapp.models import Product

from .tools.published import published_urls
from .tools.shop import (
    IS_SOAK,
    STEP,
    PlainSource,
    add_quietly,
    rename,
    some_seed,
    table,
)

pytestmark = pytest.mark.django_db(transaction=True)

#: Seconds after the return until what was changed meanwhile is published.
PROMISED_SECONDS = 5.0

#: Seconds after which it hangs: ten times lease and sweep, which busy machines and
#: starting workers come on top of.
MAX_SECONDS = 30.0

KILLS = 6
FLAPS = 5

#: Seconds that it is down, or frozen.
DOWN_SECONDS = (0.05, 4.0) if IS_SOAK else (0.05, 0.5)
FROZEN_SECONDS = 12.0 if IS_SOAK else 1.0


@dataclass(frozen=True, slots=True)
class Round:
    """One return of what was lost.

    Attributes:
        seconds: from it until all that was changed meanwhile was published.
        was_restarted: whether a worker was started again meanwhile, which takes longer
            than work.
    """

    seconds: float
    was_restarted: bool = False

    @property
    def limit(self) -> float:
        """Seconds that it may take; runs without SOAK may share their machine."""
        is_strict = IS_SOAK and not self.was_restarted
        return PROMISED_SECONDS if is_strict else MAX_SECONDS


class Shop:
    """Products that are renamed, until that is published.

    Attributes:
        restarts: how often the worker ended and was started again, as a supervisor
            would. Losing its broker ends Celery's now and then (kombu 5.7 raises
            AttributeError where it holds messages then).
    """

    def __init__(self, worker: Worker) -> None:
        self.worker = worker
        self.number = self.restarts = 0

    def change(self) -> None:
        """Rename a product."""
        self.number += 1
        rename([0], f"change-{self.number}")

    def wait(self) -> Round:
        """Wait until the last change is published."""
        began, restarts = time.monotonic(), self.restarts
        wait_until(self._is_published, "the change is published", MAX_SECONDS)
        return Round(time.monotonic() - began, self.restarts > restarts)

    def _is_published(self) -> bool:
        if not self.worker.is_running():
            self.restarts += 1
            self.worker.start()
        return published_urls() == table()


@pytest.fixture
def shop(sections, valkey, settings) -> Iterator[Shop]:
    """Have a worker and a beat at work for a section."""
    add_quietly(range(0, 30 * STEP, STEP))
    sections.register("products", PlainSource)
    build()
    with ExitStack() as stack:
        broker = Broker(valkey.url)
        stack.enter_context(celery_on(broker, valkey.url_of(1), settings))
        (worker,) = stack.enter_context(working(broker, PlainSource))
        stack.enter_context(sweeping(broker))
        shop = Shop(worker)
        shop.change()
        shop.wait()
        yield shop
        if not valkey.is_running():
            valkey.start()


def test_a_broker_that_is_killed(shop: Shop, valkey: Valkey, figures):
    """It comes back empty, and what was changed meanwhile is published."""
    chance = random.Random(seed := some_seed(0))
    rounds = []
    for _ in range(KILLS):
        valkey.kill()
        shop.change()
        time.sleep(chance.uniform(*DOWN_SECONDS))
        valkey.start()
        rounds.append(shop.wait())
    _tell(figures, "broker killed", rounds, seed=seed, kills=KILLS)


def test_a_broker_that_flaps(shop: Shop, valkey: Valkey, figures):
    """It is gone again before anybody has found it."""
    for _ in range(FLAPS):
        valkey.kill()
        shop.change()
        valkey.start()
    _tell(figures, "broker flaps", [shop.wait()], kills=FLAPS)


def test_a_broker_that_is_frozen(shop: Shop, valkey: Valkey, figures):
    """It takes connections, and answers none for a while."""
    valkey.freeze()
    time.sleep(FROZEN_SECONDS / 2)  # what was on its way is done by then
    shop.change()
    time.sleep(FROZEN_SECONDS / 2)
    valkey.thaw()
    _tell(figures, "broker frozen", [shop.wait()], kills=0)


class SlowSource(PlainSource):
    """Each page takes a while, so that a builder can be killed at work."""

    def location(self, item: Product) -> str:
        """Return its URL."""
        time.sleep(0.01)
        return f"/products/{item.slug}/"


def test_all_workers_are_killed(celery, sections, figures):
    """At work on pages, which others build after the lease."""
    add_quietly(range(0, 200 * STEP, STEP))
    sections.register("products", PlainSource)
    build()
    rounds, kills, claimed = [], 0, 0
    with working(celery, SlowSource, 2) as workers, sweeping(celery):
        for number in range(10 if IS_SOAK else 2):
            rename(Product.objects.values_list("pk", flat=True), f"change-{number}")
            wait_until(Page.objects.exclude(token="").exists, "a page is claimed")
            for worker in workers:
                worker.kill()
                kills += 1
            claimed += Page.objects.exclude(token="").count()
            for worker in workers:
                worker.start()
            began = time.monotonic()
            wait_until(
                lambda: published_urls() == table(), "all is published", MAX_SECONDS
            )
            rounds.append(Round(time.monotonic() - began))
    _tell(figures, "workers killed", rounds, kills=kills)
    assert claimed


def _tell(
    figures: Callable[..., None],
    what: str,
    rounds: list[Round],
    *,
    kills: int,
    seed: object = "none",
) -> None:
    """Print what was measured, and fail where it took too long."""
    late = [found for found in rounds if found.seconds > found.limit]
    figures(
        f"recovery, {what}",
        seed=seed,
        points=len(rounds),
        kills=kills,
        bad=len(late),
        measured="from its return until all is published",
        seconds=[round(found.seconds, 1) for found in rounds],
        sweep=SWEEP_SECONDS,
        restarts=sum(found.was_restarted for found in rounds),
    )
    assert late == []
