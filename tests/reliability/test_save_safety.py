"""T9: a broker or a cache that is lost costs no save anything.

Their clients may have no time limit, as Django's and Celery's have none unless told.
"""

from __future__ import annotations

import json
from contextlib import AbstractContextManager
from functools import partial
from typing import Any

import pytest

from django_sitemaps_plus.building.build import build
from django_sitemaps_plus.models import Change
from tests.support.servers.asked import Asked, start_asked
from tests.support.servers.programs import HOST
from tests.support.servers.workers import Broker, environment

from .tools.saving import MAX_SAVE, TRIES, quickest
from .tools.shop import IS_SOAK, PlainSource, stock

pytestmark = pytest.mark.django_db(transaction=True)

SAVES = 10_000 if IS_SOAK else 1_000

#: What the promise allows for a thousand saves, beside those that go well; ten times
#: that without SOAK, as others may use the machine. Saves that wait take minutes.
MAX_SECONDS = 3.0 if IS_SOAK else 30.0

#: What a process may still do for its last wake-ups; far less than a hang.
MAX_EXIT = 10.0

CONTEXTS = ("autocommit", "atomic", "nested_atomic")

LIMITS = {"socket_timeout": 0.25, "socket_connect_timeout": 0.25}


def saver(broker: Broker) -> AbstractContextManager[Asked]:
    """Return a process that saves, for the time of a ``with`` block."""
    path = f"{PlainSource.__module__}.{PlainSource.__qualname__}"
    sections = environment(**broker.settings(), WORKER_SECTIONS={"products": path})
    program = "tests.reliability.tools.saving"
    return start_asked("-m", program, environment=sections, seconds=60 * TRIES)


def save(process: Asked, context: str) -> dict[str, Any]:
    """Let it save often; return what it took, and what was raised."""
    found: dict[str, Any] = json.loads(process.ask(f"{context} {SAVES}"))
    return found


@pytest.fixture
def unbuilt(sections, configure) -> None:
    """Have a section without pages, whose changes engines are told of."""
    stock(5)
    configure(
        EXECUTOR="django_sitemaps_plus.tasks.CeleryExecutor",
        ENGINES={"one": {"BACKEND": "django_sitemaps_plus.testing.RecordingEngine"}},
        NOTIFY=True,
    )


@pytest.fixture
def products(unbuilt) -> None:
    """Have a section whose changes wake workers, and are told as well."""
    build()


@pytest.mark.usefixtures("products")
@pytest.mark.parametrize(
    ("fault", "limits"),
    [
        ("black_hole", LIMITS),
        pytest.param("black_hole", {}, marks=pytest.mark.database),
        *[("refuse", {}), ("reset", LIMITS)],
    ],
    ids=["black hole, limits", "black hole", "refuse", "reset, limits"],
)
def test_a_lost_broker_and_cache(fault, limits, chaos, settings, figures):
    """Saves go on as before, none raises, and the process ends when it is done."""
    lose(fault, limits, chaos, settings, figures)


@pytest.mark.database
@pytest.mark.usefixtures("unbuilt")
def test_a_lost_broker_where_nothing_is_built(chaos, settings, figures):
    """Saves are recorded for the engines' sake, and are as quick."""
    lose("black_hole", {}, chaos, settings, figures)


def lose(fault, limits, chaos, settings, figures) -> None:
    """Let a process save while broker and cache are lost, and see what it took."""
    settings.CACHES = {
        "default": {
            "BACKEND": "django.core.cache.backends.redis.RedisCache",
            "LOCATION": f"redis://{HOST}:{chaos.port}/1",
            "OPTIONS": limits,
        }
    }
    results = []

    def slowest(process: Asked, context: str) -> float:
        results.append(save(process, context))
        return float(results[-1]["slowest"])

    with saver(Broker(f"redis://{HOST}:{chaos.port}/0")) as process:
        healthy = save(process, "autocommit")
        getattr(chaos, fault)()
        found = [quickest(partial(slowest, process, context)) for context in CONTEXTS]
        exit_seconds = process.finish()
    raised = [error for result in results for error in result["raised"]]
    figures(
        f"saves, broker and cache {fault}, {'with' if limits else 'without'} limits",
        points=SAVES * len(results),
        bad=raised,
        healthy=f"{healthy['seconds']:.2f}s",
        seconds=[f"{result['seconds']:.2f}" for result in results],
        slowest=f"{max(found):.3f}s",
        exit=f"{exit_seconds:.2f}s",
    )
    assert max(found) <= MAX_SAVE
    for result in results:
        more = result["seconds"] - healthy["seconds"]
        assert more <= MAX_SECONDS * SAVES / 1_000
    assert exit_seconds <= MAX_EXIT
    assert Change.objects.count() == SAVES * (len(results) + 1)
