"""T10 for deliveries: when engine, broker or workers are back, what waits is told."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from django_sitemaps_plus.models import EngineHost
from tests.support.builds import build_and_relay
from tests.support.servers.engine import (
    EngineProgram,
    count_accepted,
    start_engine_program,
)
from tests.support.servers.fixtures import celery_on
from tests.support.servers.programs import wait_until
from tests.support.servers.running import SWEEP_SECONDS, working
from tests.support.servers.valkey import Valkey
from tests.support.servers.workers import Broker, Worker, start_beat

from .tools.shop import IS_SOAK, ORIGIN, STEP, PlainSource, add_quietly, rename
from .tools.under_fire import is_drained, tell_soon

pytestmark = pytest.mark.django_db(transaction=True)

#: Seconds after the return until all is told: ten times lease and sweep, which busy
#: machines and starting workers come on top of.
MAX_SECONDS = 30.0

ROUNDS = 10 if IS_SOAK else 1

#: Seconds that something is away.
AWAY_SECONDS = 1.0

TASKS = "django_sitemaps_plus.tasks"


class Shop:
    """Products that are renamed, until the engine has heard of it."""

    def __init__(self, engine: EngineProgram, workers: list[Worker]) -> None:
        self.engine = engine
        self.workers = workers
        self.seconds: list[float] = []
        self._number = 0

    def change(self) -> None:
        """Rename a product."""
        self._number += 1
        rename([0], f"change-{self._number}")

    def wait(self) -> None:
        """Wait until the last change is told; note the seconds."""
        began = time.monotonic()
        wait_until(self._is_told, "it is told")
        self.seconds.append(time.monotonic() - began)

    def _is_told(self) -> bool:
        for worker in self.workers:  # as a supervisor would
            if not worker.is_running():
                worker.start()
        url = f"{ORIGIN}/products/change-{self._number}-0/"
        return is_drained() and url in count_accepted(self.engine.journal())

    def report(self, figures: Any, what: str, kills: int) -> None:
        """Print how long it took, and judge it."""
        figures(
            f"deliveries after {what}",
            points=len(self.seconds),
            kills=kills,
            seconds=[round(took, 1) for took in self.seconds],
            sweep=SWEEP_SECONDS,
        )
        assert max(self.seconds) <= MAX_SECONDS


@pytest.fixture
def shop(sections, valkey: Valkey, settings: Any, tmp_path: Any) -> Iterator[Shop]:
    """Have two workers and a beat build, and tell an engine."""
    add_quietly(range(0, 30 * STEP, STEP))
    sections.register("products", PlainSource)
    build_and_relay()
    (tmp_path / "engine").mkdir()
    with ExitStack() as stack:
        engine = stack.enter_context(start_engine_program(tmp_path / "engine"))
        tell_soon(settings, engine.url)
        broker = Broker(valkey.url)
        stack.enter_context(celery_on(broker, valkey.url_of(1), settings))
        workers = stack.enter_context(working(broker, PlainSource, 2))
        schedule = {
            name: {
                "task": f"{TASKS}.{name}",
                "schedule": SWEEP_SECONDS,
                "options": {"expires": 5},
            }
            for name in ("refresh", "notify")
        }
        stack.enter_context(start_beat(broker, schedule))
        shop = Shop(engine, workers)
        shop.change()
        shop.wait()
        shop.seconds.clear()
        yield shop
        if not valkey.is_running():
            valkey.start()


def test_an_engine_that_was_away(shop, figures):
    """What it was not told meanwhile is told at its return."""
    for _ in range(ROUNDS):
        shop.engine.program.kill()
        shop.change()
        wait_until(EngineHost.objects.filter(failures__gt=0).exists, "it is missed")
        shop.engine.start()
        shop.wait()
    shop.report(figures, "an engine's return", ROUNDS)


def test_a_broker_that_was_away(shop, valkey, figures):
    """Killed it forgets all messages, frozen it answers none."""
    for away, back in [(valkey.kill, valkey.start), (valkey.freeze, valkey.thaw)]:
        away()
        shop.change()
        time.sleep(AWAY_SECONDS)
        back()
        shop.wait()
    shop.report(figures, "a broker's return", 1)


def test_workers_that_are_killed_while_they_tell(shop, figures):
    """Others tell it after the lease, whether or not it had arrived."""
    for _ in range(ROUNDS):
        shop.engine.program.freeze()
        shop.change()
        wait_until(EngineHost.objects.exclude(token="").exists, "it is being told")
        for worker in shop.workers:
            worker.kill()
        shop.engine.program.thaw()
        shop.wait()
    shop.report(figures, "the death of all workers", ROUNDS * len(shop.workers))
