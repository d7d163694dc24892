"""How soon work goes on after all Celery workers were killed in the middle of it."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from django.conf import settings

from django_sitemaps_plus.models import Page
from tests.benchmarks.building import unbuild
from tests.benchmarks.changing import edit_each_page
from tests.benchmarks.crew import Crew, start_crew, wait_for
from tests.benchmarks.harness import Contender, Subject, Target
from tests.support.servers.valkey import start_valkey

_LEASE_SECONDS, _POLL_SECONDS = 2, 1
_PAGES, _SIZE = 200, 100
_ROWS = _PAGES * _SIZE


def setting(rows: int) -> Iterator[Subject]:
    """Compare the time with lease and poll."""
    quick = {**settings.SITEMAPS_PLUS, "LEASE_SECONDS": _LEASE_SECONDS}
    unbuild()
    with (
        start_valkey() as server,
        start_crew(server.url, 2, _ROWS, _SIZE, SITEMAPS_PLUS=quick) as crew,
    ):
        crew.build()
        accident = _Accident(crew)
        from_start = "from the start of new workers"
        yield Subject(
            title=f"All published after SIGKILL of two workers at {_PAGES} pages",
            note=f"A lease of {_LEASE_SECONDS} s, and a message each second from "
            "the start of new workers on. The second line leaves out the time that "
            "Celery takes to start.",
            rounds=9,
            warm_ups=1,
            contenders=[
                Contender(from_start, accident.measure),
                Contender(
                    "since they take messages", lambda: accident.seconds_since_ready
                ),
            ],
            targets=[Target(from_start, plus=_LEASE_SECONDS + _POLL_SECONDS)],
        )
    unbuild()


@dataclass(slots=True)
class _Accident:
    """Kills all workers when they are half done, and starts them again."""

    crew: Crew
    seconds_since_ready: float = 0.0

    def measure(self) -> float:
        """Return the seconds from the start of new workers to all published."""
        self._kill_half_way()
        began = time.perf_counter()
        with self._polled():
            self.crew.start_again()
            wait_for(self.crew.is_ready)
            ready = time.perf_counter()
            self.crew.wait()
            ended = time.perf_counter()
        self.seconds_since_ready = ended - ready
        return ended - began

    def _kill_half_way(self) -> None:
        self.crew.rest()
        edit_each_page(_SIZE, _PAGES)
        self.crew.send()
        wait_for(lambda: Page.objects.dirty().count() < _PAGES / 2)
        while not self._are_frozen_at_work():
            for worker in self.crew.workers:
                worker.thaw()
        for worker in self.crew.workers:
            worker.kill()
        self.crew.forget_unacknowledged()

    def _are_frozen_at_work(self) -> bool:
        for worker in self.crew.workers:
            worker.freeze()
        dirty = Page.objects.dirty()
        if not dirty.exists():
            raise RuntimeError("They were done before they could be killed.")
        return dirty.exclude(token="").exists()

    @contextmanager
    def _polled(self) -> Iterator[None]:
        """Send a message each second for the time of a ``with`` block."""
        done = threading.Event()

        def poll() -> None:
            self.crew.send()
            while not done.wait(_POLL_SECONDS):
                self.crew.send()

        thread = threading.Thread(target=poll)
        thread.start()
        try:
            yield
        finally:
            done.set()
            thread.join()
