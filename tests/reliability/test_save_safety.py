"""T9: a broker or a cache that is lost costs no save anything.

Their clients may have no time limit, as Django's and Celery's have none unless told.
"""

import json
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import Any

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext

from django_sitemaps_plus import ModelSource, Route
from django_sitemaps_plus.building.build import build
from django_sitemaps_plus.models import Change
from django_sitemaps_plus.testing import temporary_registry
from django_sitemaps_plus.tracking import known
from tests.support.servers.asked import Asked, start_asked
from tests.support.servers.programs import HOST
from tests.support.servers.workers import Broker, environment
from tests.support.testapp.models import Author, Product

from .tools import saving
from .tools.save_faults import BY_DATABASE, FAULTS, LOSING, SOURCES
from .tools.saving import MAX_SAVE, TRIES, forget_failures, quickest
from .tools.shop import IS_SOAK, STEP, PlainSource, add, add_quietly, rename, stock

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
    build()


@pytest.mark.usefixtures("products")
@pytest.mark.parametrize(
    ("fault", "limits"),
    [("black_hole", LIMITS), *[("black_hole", {}), ("refuse", {}), ("reset", LIMITS)]],
    ids=["black hole, limits", "black hole", "refuse", "reset, limits"],
)
def test_a_lost_broker_and_cache(fault, limits, chaos, settings, figures):
    """Saves go on as before, none raises, and the process ends when it is done."""
    lose(fault, limits, chaos, settings, figures)


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


TRANSACTIONS = ("autocommit", "atomic", "nested_atomic", "request", "test_case")

#: Of products; each try has its own.
KEYS = range(0, TRIES * len(TRANSACTIONS) * STEP, STEP)


@pytest.fixture
def engine(configure: Any) -> None:
    configure(
        ENGINES={"one": {"BACKEND": "django_sitemaps_plus.testing.RecordingEngine"}},
        NOTIFY=True,
    )


@pytest.fixture(params=["built", "not built", "not read", "in a test run"])
def changes(
    request: pytest.FixtureRequest, sections: Any, fault: str, configure: Any
) -> int:
    """Have a section; return how many changes are recorded of a save.

    Without pages they are, because of the engine; else of a section that is not read,
    and in the tests of a project, there are none.
    """
    if (request.param, fault) == ("in a test run", "no_sites"):
        pytest.skip("the fault takes a process that runs no tests")
    known.forget()
    add_quietly(KEYS)
    sections.register("products", PlainSource)
    if request.param in ("built", "in a test run"):
        build()
    sections.unregister("products")
    sections.register("products", SOURCES.get(fault, PlainSource))
    if request.param == "not read":
        configure(ENGINES={}, NOTIFY=False)
    elif request.param == "in a test run":
        configure(TRACK=None)
    is_read = request.param in ("built", "not built")
    return 1 if is_read and fault not in LOSING else 0


@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize(
    "fault",
    [
        pytest.param(it, marks=pytest.mark.database if it in BY_DATABASE else ())
        for it in FAULTS
    ],
)
def test_a_save_goes_on(
    fault: str, changes: int, request: pytest.FixtureRequest, figures: Any
):
    """Rows are committed, more can be asked of the transaction, and nothing is slow."""
    keys, tried, followed = iter(KEYS), [], []

    def save(context: str) -> float:
        tried.append((context, next(keys)))
        return save_and_look(*tried[-1], then=lambda: followed.append(context))

    with FAULTS[fault](request.getfixturevalue):
        slowest = max([quickest(partial(save, context)) for context in TRANSACTIONS])
    committed = set(Product.objects.values_list("slug", flat=True))
    # What is saved in the last one is undone.
    kept = [(context, key) for context, key in tried if context != "test_case"]
    lost = set().union(*[slugs(context, key) for context, key in kept]) - committed
    figures(
        f"saves, {fault}", points=len(tried), lost=len(lost), slowest=f"{slowest:.3f}s"
    )
    assert not lost
    assert followed == [context for context, _ in tried]
    assert slowest <= MAX_SAVE
    assert Change.objects.count() == changes * 2 * len(kept)


def slugs(context: str, key: int) -> set[str]:
    """Return the slugs that the saves in a context give."""
    return {f"{context}-{key}", f"new-{key + 1}"}


def save_and_look(context: str, key: int, then: Callable[[], None]) -> float:
    """Rename a product, add one, and ask for both; return the seconds it took.

    What the user wants done after the commit is done, whatever else comes after it.
    """

    def work() -> None:
        rename([key], context)
        add([key + 1], "new")
        assert slugs(context, key) <= set(
            Product.objects.values_list("slug", flat=True)
        )
        transaction.on_commit(then)

    forget_failures()
    began = time.perf_counter()
    getattr(saving, f"in_{context}")(work)
    return time.perf_counter() - began


CHEAP_SAVES = 2_000 if IS_SOAK else 100


class AuthorSource(ModelSource):
    """Of a model that others refer to, so that Django deletes its rows one by one."""

    model = Author
    location = Route("author-detail", pk="pk")


@pytest.fixture
def two_sections(sections: Any) -> None:
    """Have two sections of the same model, which are not built."""
    for name in ("one", "two"):
        sections.register(name, AuthorSource)


def added_queries(work: Callable[[], object]) -> int:
    """Return how many more queries work takes with the receivers; no change is left."""
    counts = []
    for registered in (temporary_registry(), nullcontext()):
        with registered, CaptureQueriesContext(connection) as queries:
            work()
        counts.append(len(queries))
    assert not Change.objects.exists()
    without, with_us = counts
    return with_us - without


@pytest.mark.usefixtures("two_sections")
def test_creates_and_deletes_in_tests_of_a_project(configure):
    """With the default of TRACK, in one transaction, as in a TestCase."""
    configure(TRACK=None)

    @transaction.atomic
    def work() -> None:
        for number in range(CHEAP_SAVES):
            Author.objects.create(name=f"author {number}")
        Author.objects.all().delete()

    assert added_queries(work) == 0


@pytest.mark.usefixtures("two_sections")
@pytest.mark.parametrize("in_transaction", [True, False])
def test_saves_on_a_site_that_is_served_live(in_transaction):
    """Nothing is built, and no engine is notified: that is asked once for all."""
    authors = [Author.objects.create(name=f"author {n}") for n in range(CHEAP_SAVES)]
    known.forget()

    def work() -> None:
        for author in authors:
            author.save()

    act = transaction.atomic(work) if in_transaction else work
    assert added_queries(act) <= 3  # the question, in a savepoint inside a transaction
