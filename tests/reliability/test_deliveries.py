"""T8: what is committed is told, whoever is killed; what is rolled back never is."""

import os
import random
import time
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest
from django.db import connection

from django_sitemaps_plus.models import Delivery
from django_sitemaps_plus.notifications import IndexNow
from tests.integration.notifications.engines import KEY
from tests.support.builds import build_and_relay
from tests.support.servers.engine import (
    EngineProgram,
    count_accepted,
    start_engine_program,
)
from tests.support.servers.fixtures import celery_on
from tests.support.servers.key_site import KeySite, start_key_site
from tests.support.servers.programs import wait_until
from tests.support.servers.valkey import Valkey
from tests.support.servers.workers import Broker

from .tools.processes import fork
from .tools.shop import IS_SOAK, SEEDS, some_seed, stock
from .tools.under_fire import (
    BETWEEN,
    CHANGES,
    Fate,
    FireSource,
    Relays,
    expected,
    is_drained,
    tell_soon,
    write,
)

pytestmark = [pytest.mark.database, pytest.mark.django_db(transaction=True)]

#: Of the answers of the engine.
FAULTS = {"503": 0.25, "hang": 0.05, "lost_ack": 0.05, "429": 0.02}

#: Times that each URL is sent, in the mean, at most.
MAX_SENDS = 1.5

#: Seconds in which all is told once faults stop: ten times what is promised, so that
#: a busy machine fails no test. The figures say what it took.
DRAIN_SECONDS = 30

#: Seconds in which workers are killed, and how many are, at least.
SECONDS = 200 if IS_SOAK else 6
MIN_KILLS = 20 if IS_SOAK else 6


def changes() -> int:
    fewest = 1_000 if connection.vendor == "postgresql" else 250
    return 50 * fewest if IS_SOAK else fewest


@pytest.fixture
def key_site() -> Iterator[KeySite]:
    with start_key_site(KEY) as site:
        yield site


@pytest.fixture
def engine(
    key_site: KeySite, settings: Any, monkeypatch: Any
) -> Iterator[EngineProgram]:
    """Run a faulty engine that fetches the key file, and which everybody is to tell."""
    monkeypatch.setattr(IndexNow, "max_batch", changes() // 50)  # many requests
    words = [f"--fault={name}={chance}" for name, chance in FAULTS.items()]
    words.append(f"--site={key_site.url}")
    with start_engine_program(*words) as program:
        tell_soon(settings, program.url)
        yield program


@pytest.fixture
def broker(valkey: Valkey, settings: Any, configure: Any) -> Iterator[Valkey]:
    """Give the server of cache and broker, which may be killed."""
    with celery_on(Broker(valkey.url), valkey.url_of(1), settings):
        configure(LEASE_SECONDS=1)
        yield valkey
        if not valkey.is_running():
            valkey.start()


@pytest.mark.parametrize("number", SEEDS)
def test_killed_while_telling(number, engine, key_site, broker, sections, figures):
    """Each URL of committed work arrives, few twice, and no other does."""
    chance = random.Random(seed := some_seed(number))
    stock(changes() + 1, FireSource)
    build_and_relay()
    transactions = list(range(changes() // CHANGES))
    chance.shuffle(transactions)
    relays = Relays()
    fate = Fate(
        chance,
        {
            "broker killed": (broker.kill, broker.start),
            "broker frozen": (broker.freeze, broker.thaw),
            "engine killed": (engine.kill, engine.start),
        },
    )
    with ExitStack() as stack:
        stack.callback(relays.stop)
        writer = fork(lambda: write(transactions))
        fire(relays, fate, chance)
        kills = relays.kills
        assert os.waitpid(writer, 0)[1] == 0, "the writer has failed"
        heal(engine)
        began = time.monotonic()
        wait_until(is_drained, "all is told")
        drained = time.monotonic() - began
    journal = engine.journal()
    told = count_accepted(journal)
    meant = expected(transactions)
    lost, ghosts = meant - set(told), set(told) - meant
    sends = told.total() / len(told)
    figures(
        f"deliveries on {connection.vendor}",
        seed=seed,
        points=changes(),
        kills=kills,
        blows=dict(fate.met),
        requests=len(journal),
        keys=key_site.count_fetched(),
        lost=sorted(lost),
        bad=sorted(ghosts),
        dup=round(sends, 2),
        drained=f"{drained:.2f}s",
    )
    assert sends <= MAX_SENDS
    assert drained <= DRAIN_SECONDS
    assert kills >= MIN_KILLS
    assert fate.is_complete()
    assert key_site.count_fetched() >= sum([bool(heard.targets) for heard in journal])
    assert not Delivery.objects.dead().exists()
    assert relays.ended == 0


def fire(relays: Relays, fate: Fate, chance: random.Random) -> None:
    """Kill workers and servers for some time, at the end of which all run.

    A machine so busy that a kind of blow has not come by then needs some more.
    """
    end = time.monotonic() + SECONDS
    while time.monotonic() < end or not fate.is_complete():
        relays.start()
        time.sleep(chance.uniform(*BETWEEN))
        relays.kill(chance.randrange(relays.count))
        fate.strike()
    fate.mend()
    relays.start()


def heal(engine: EngineProgram) -> None:
    engine.kill()
    command = engine.command
    engine.command = [w for w in command if not w.startswith("--fault")]
    engine.start()
