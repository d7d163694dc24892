"""T15: however many ask for what is not kept, one renders or plans it."""

import json
import multiprocessing
import os
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from django.db import connections
from django.test import Client

from django_sitemaps_plus import planning
from django_sitemaps_plus.registry import registry
from django_sitemaps_plus.serving import single_flight
from django_sitemaps_plus.sources.reading import ModelReader, reader_of
from tests.support.servers.valkey import Valkey
from tests.support.testapp.models import Product

from .tools.degraded import redis_cache, use_cache
from .tools.processes import fork
from .tools.shop import IS_SOAK, STEP, PlainSource, stock

pytestmark = pytest.mark.django_db(transaction=True)

PROCESSES = 2
THREADS = 32
ROUNDS = 5 if IS_SOAK else 1

RENDER_SECONDS = 0.3

#: Nobody waits longer than 2.5 s. Beside other tests the machine itself may pause for
#: longer than a leader may, so there all limits are ten times as long.
PATIENCE = 1 if IS_SOAK else 10
MAX_SECONDS = 2.5 * PATIENCE

#: Seconds after which a process that hangs is ended.
HANG = 30

PATH = "/sitemap-products-2.xml"
INDEX = "/sitemap.xml"


class SlowSource(PlainSource):
    """Each page takes its time, and leaves a line about who renders it."""

    notes: Path
    render_seconds = RENDER_SECONDS
    kills_first = False

    def location(self, item: Product) -> str:
        if item.pk % (self.limit * STEP) == 0:
            note(self.notes / "renders")
            self._wait_or_die()
        return f"/products/{item.slug}/"

    def _wait_or_die(self) -> None:
        time.sleep(self.render_seconds)
        first = lines(self.notes / "renders")[0].split()[0]
        if self.kills_first and first == str(os.getpid()):
            os.kill(os.getpid(), signal.SIGKILL)


class SlowPlanSource(PlainSource):
    """To find the bounds of its pages takes time, and leaves a line as well."""

    notes: Path


class SlowPlanReader(ModelReader):
    """Reads such a source."""

    def first_keys(self, *args: Any, **kwargs: Any) -> Iterator[str]:
        """Yield the key of the first row of each page."""
        note(self.source.notes / "renders")
        time.sleep(RENDER_SECONDS)
        yield from super().first_keys(*args, **kwargs)


reader_of.register(SlowPlanSource, SlowPlanReader)


def note(path: Path, text: str = "") -> None:
    """Add a line to a file, whole, whoever else does so."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.write(descriptor, f"{os.getpid()} {text}\n".encode())
    os.close(descriptor)


def lines(path: Path) -> list[str]:
    return path.read_text().splitlines() if path.exists() else []


@dataclass
class Crowd:
    renders: Counter[str] = field(default_factory=Counter)
    statuses: Counter[int] = field(default_factory=Counter)
    slowest: float = 0.0
    bodies: set[int] = field(default_factory=set)


def crowd(notes: Path, *paths: str) -> Crowd:
    """Let threads of several processes ask at the same time, for paths in turn."""
    for name in ("renders", "answers"):
        (notes / name).unlink(missing_ok=True)
    together = multiprocessing.get_context("fork").Barrier(PROCESSES)
    work = partial(_threads, notes, together, paths or (PATH,))
    children = [fork(work, HANG) for _ in range(PROCESSES)]
    for pid in children:
        os.waitpid(pid, 0)
    found = Crowd(Counter(line.split()[0] for line in lines(notes / "renders")))
    for line in lines(notes / "answers"):
        status, seconds, body = json.loads(line.partition(" ")[2])
        found.statuses[status] += 1
        found.slowest = max(found.slowest, seconds)
        found.bodies.add(body)
    return found


def crowds(
    notes: Path, cache: Callable[[], AbstractContextManager[Any]], *paths: str
) -> list[Crowd]:
    """Return what came of some crowds, each with a cache of its own."""
    found = []
    for _ in range(ROUNDS):
        with cache():
            found.append(crowd(notes, *paths))
    return found


@contextmanager
def emptied(server: Valkey) -> Iterator[None]:
    """Have a server that holds nothing as the cache, and wait for it."""
    server.restart()
    with redis_cache(server.port, HANG):
        yield


def _threads(notes: Path, together: Any, paths: Sequence[str]) -> None:
    # One thread of each process waits for the others: of 32, one might die while it
    # holds the lock that they share.
    barrier = threading.Barrier(THREADS, action=lambda: together.wait(HANG))
    threads = [
        threading.Thread(target=_ask, args=(notes, barrier, paths[n % len(paths)]))
        for n in range(THREADS)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def _ask(notes: Path, together: threading.Barrier, path: str) -> None:
    client = Client(raise_request_exception=False)
    client.get("/about/")  # loads what a first request loads
    together.wait(HANG)
    began = time.monotonic()
    response = client.get(path)
    seconds = time.monotonic() - began
    answer = [response.status_code, seconds, hash(response.content)]
    note(notes / "answers", json.dumps(answer))
    connections.close_all()


def renders(found: Sequence[Crowd]) -> list[list[int]]:
    """Return how many times each process of each crowd rendered, the fewest first."""
    return [sorted(one.renders.values()) for one in found]


@pytest.fixture(autouse=True)
def limits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take a pause of the machine for no death."""
    for name in ("BUSY_SECONDS", "MAX_WAIT"):
        limit = getattr(single_flight, name) * PATIENCE
        monkeypatch.setattr(single_flight, name, limit)


@pytest.fixture(autouse=True)
def no_sample(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a plan not render rows to judge how many fit on a page."""
    monkeypatch.setattr(planning, "_fitting_rows", lambda *given: given[-1])


@pytest.fixture
def notes(sections, configure, tmp_path) -> Path:
    """Have a section that is not built; give where its source leaves its notes."""
    configure(LIVE_CACHE_SECONDS=60)
    stock(30, type("NotedSource", (SlowSource,), {"notes": tmp_path}))
    return tmp_path


@pytest.fixture
def told(figures) -> Any:
    """Return what prints and checks the figures of crowds."""

    def told(what: str, found: list[Crowd], kills: int = 0, documents: int = 1) -> None:
        answers = sum([one.statuses for one in found], Counter[int]())
        slowest = max(one.slowest for one in found)
        figures(
            f"stampede, {what}",
            points=len(found) * PROCESSES * THREADS,
            kills=kills,
            bad=sum(answers.values()) - answers[200],
            renders=renders(found),
            slowest=f"{slowest:.2f}s",
        )
        asked = (PROCESSES * ROUNDS - kills) * THREADS
        assert answers == {200: asked}
        assert all(len(one.bodies) == documents for one in found)
        assert slowest <= MAX_SECONDS

    return told


def test_one_render_for_a_shared_cache(notes, valkey, told):
    """All others wait for it."""
    found = crowds(notes, partial(emptied, valkey))
    told("shared cache", found)
    assert renders(found) == [[1]] * ROUNDS


def test_a_second_render_where_the_first_dies(notes, valkey, told):
    """With all threads of its process; those of another take over."""
    registry.get("products").kills_first = True  # type: ignore[attr-defined]
    found = crowds(notes, partial(emptied, valkey))
    told("leader killed", found, kills=ROUNDS)
    assert renders(found) == [[1, 1]] * ROUNDS


def test_one_render_for_each_process_where_the_cache_is_lost(notes, chaos, told):
    """It never answers, and its client waits as long as the docs recommend."""
    # Nothing is kept, so who asks only when the page is rendered renders it again. Two
    # cores let each of 32 threads ask within a second; within the 0.3 s of the other
    # tests one was late in one of some twenty crowds.
    seconds = 1.0 if IS_SOAK else 3.0
    registry.get("products").render_seconds = seconds  # type: ignore[attr-defined]
    chaos.black_hole()
    found = crowds(notes, partial(redis_cache, chaos.port))
    chaos.heal()
    told("cache is a black hole", found)
    assert renders(found) == [[1, 1]] * ROUNDS


def test_one_render_for_each_process_without_a_shared_cache(notes, told):
    """Each has a cache of its own."""
    own = "django.core.cache.backends.locmem.LocMemCache"
    found = crowds(notes, partial(use_cache, own))
    told("no shared cache", found)
    assert renders(found) == [[1, 1]] * ROUNDS


@pytest.fixture
def plans(sections, configure, tmp_path) -> Path:
    """Have a section whose plan takes time; give where its source leaves its notes."""
    configure(LIVE_CACHE_SECONDS=60)
    stock(30, type("NotedPlanSource", (SlowPlanSource,), {"notes": tmp_path}))
    return tmp_path


def test_one_plan_for_a_shared_cache(plans, valkey, told):
    """Whether the index is asked for or pages are, and nothing was built before."""
    paths = INDEX, PATH, "/sitemap-products-1.xml"
    found = crowds(plans, partial(emptied, valkey), *paths)
    told("live plan", found, documents=3)
    assert renders(found) == [[1]] * ROUNDS


def test_a_plan_is_made_where_the_cache_is_lost(plans, chaos, told):
    """Nobody waits for a cache that never answers, and nobody is turned away."""
    chaos.black_hole()
    found = crowds(plans, partial(redis_cache, chaos.port), INDEX)
    chaos.heal()
    told("live plan, cache is a black hole", found)
