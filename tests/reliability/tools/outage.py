"""Who works with a database that crashes: a saver, a crawler and two builders."""

from __future__ import annotations

import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

from django.db import Error, close_old_connections, connections, transaction

from django_sitemaps_plus.exceptions import BuildError
from tests.support.builds import build_and_relay
from tests.support.servers.postgresql import PostgreSQL
from tests.support.servers.programs import Program
from tests.support.testapp.models import Product
from tests.support.web import Answer, WebClient

from .published import crawl, urls_of, wrong_documents
from .shop import STEP, SlowSource, rename

KEYS = range(0, 90 * STEP, STEP)

#: An audit would find what the crashes have lost.
NO_AUDIT = {"audits": False}

#: Seconds between two transactions, and between two refreshes of the loop.
PAUSE_SECONDS = 0.02


class SmallPages(SlowSource):
    """So many that few are changed twice, which would make up for a change lost."""

    limit = 3


class Saver:
    """Saves products in transactions over and over, and knows what was committed.

    Attributes:
        slugs: those that a product may have, by key: the one that was committed, and
            later ones of which nobody has heard whether they were.
        committed: transactions that succeeded.
        failed: those that did not.
    """

    def __init__(self, seed: int) -> None:
        self.slugs = {key: {f"p-{key}"} for key in KEYS}
        self.committed = self.failed = 0
        self._turns = random.Random(seed).sample(KEYS, len(KEYS))

    def turn(self) -> None:
        """Rename two products in one transaction; those that failed are tried again."""
        close_old_connections()  # as at the begin of each request
        keys = self._turns[:2]
        prefix = f"edit{self.committed + self.failed}"
        for key in keys:
            self.slugs[key].add(f"{prefix}-{key}")
        try:
            with transaction.atomic():
                rename(keys, prefix)
        except Error:
            self.failed += 1
            return
        self.committed += 1
        self._turns = self._turns[2:] + keys
        self.slugs |= {key: {f"{prefix}-{key}"} for key in keys}

    def lost(self) -> list[str]:
        """Return the products that are not as they were committed, in words."""
        rows = Product.objects.values_list("pk", "slug")
        return [f"{pk} is {slug}" for pk, slug in rows if slug not in self.slugs[pk]]


class Crawler:
    """Reads all that is published over and over, and finds what is wrong with it.

    Each product is on one page, and stays there, so each reading lists it once.
    """

    def __init__(self, url: str, database: PostgreSQL) -> None:
        self.bad: list[str] = []
        self.whole = 0
        self.statuses: Counter[int] = Counter()
        self._client = WebClient(url)
        self._database = database

    def turn(self) -> None:
        """Read it once."""
        before = self._database.turns
        found = self._wrong()
        if before % 2 or before != self._database.turns:
            return
        self.whole += 1
        self.bad += found

    def get(self, path: str) -> Answer:
        """Ask for a document; no answer may be worse than "later"."""
        answer = self._client.get(path)
        self.statuses[answer.status_code] += 1
        if answer.status_code not in (200, 503):
            self.bad.append(f"{answer.status_code} {path}")
        return answer

    def _wrong(self) -> list[str]:
        try:
            documents = crawl(self)
        except AssertionError as error:
            return [str(error)]
        listed = urls_of(documents)
        keys = sorted([int(url.strip("/").rpartition("-")[2]) for url in listed])
        found = [] if keys == list(KEYS) else [f"{len(keys)} URLs, not {len(KEYS)}"]
        return [*found, *wrong_documents(documents)]


@contextmanager
def repeating(turn: Callable[[], object]) -> Iterator[None]:
    """Do something over and over in a thread for the time of a ``with`` block."""
    is_over = threading.Event()

    def work() -> None:
        try:
            while not is_over.wait(PAUSE_SECONDS):
                turn()
        finally:
            connections.close_all()

    with ThreadPoolExecutor(1) as pool:
        future = pool.submit(work)
        try:
            yield
        finally:
            is_over.set()
        future.result()


class Builders:
    """A Celery worker and a process that builds again and again, as a daemon may.

    The process keeps its connection, and nobody but the build itself looks after it.
    Nobody starts them again.
    """

    def __init__(self, worker: Program, notes: Path) -> None:
        self._worker = worker
        self._notes = notes

    def done(self) -> tuple[int, ...]:
        """Return how many builds of each have succeeded."""
        return self._worker.printed().count(" succeeded in "), self._count("done")

    def failed(self) -> tuple[int, ...]:
        """Return how many builds of each have failed."""
        failures = self._worker.printed().count(" raised unexpected")
        return failures, self._count("failed")

    def _count(self, outcome: str) -> int:
        return self._notes.read_text().count(outcome)


def build_for_ever(notes: Path) -> None:
    """Note of each build how it ended."""
    with notes.open("a", buffering=1) as file:
        while True:
            file.write(f"{_outcome()}\n")
            time.sleep(PAUSE_SECONDS)


def _outcome() -> str:
    try:
        report = build_and_relay(**NO_AUDIT)
    except BuildError:
        return "failed"
    return "failed" if any(found.errors for found in report.sections) else "done"
