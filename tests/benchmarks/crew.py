"""Celery workers that build for the benchmark, on its own database."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.db.models import Sum
from redis import Redis

from django_sitemaps_plus.models import INDEX, Page
from tests.support.servers.programs import Program, wait_until
from tests.support.servers.workers import Broker, messages_to, start_worker

_SITE, _SECTION = "default", "products"

#: Between two looks whether all is published: the workers need both cores.
_LOOK_SECONDS = 0.02


@dataclass(frozen=True, slots=True)
class Crew:
    """Some workers with a queue of their own."""

    broker: Broker
    workers: list[Program]
    rows: int

    def build(self) -> None:
        """Let them build, and return once all is published."""
        self.send()
        self.wait()

    def send(self) -> None:
        """Send them one message, as beat does."""
        from django_sitemaps_plus.tasks import refresh

        refresh.apply_async([[_SECTION]], queue=self.broker.queue)

    def wait(self) -> None:
        """Wait until no page is dirty and the index is published."""
        wait_for(_is_published)
        pages = Page.objects.of(_SITE, _SECTION)
        entries = pages.aggregate(total=Sum("entries"))["total"]
        if entries != self.rows:
            raise RuntimeError(f"{entries:,} entries were built, not {self.rows:,}")

    def rest(self) -> None:
        """Return when they are idle and have no message left."""
        with Redis.from_url(self.broker.url) as client:
            wait_until(
                lambda: (
                    not client.llen(self.broker.queue) and not client.hlen("unacked")
                ),
                "all messages are dealt with",
            )

    def start_again(self) -> None:
        """Start the workers after a kill, all together."""
        for worker in self.workers:
            worker.start(waits=False)

    def is_ready(self) -> bool:
        """Return whether all of them take messages."""
        return all(" ready." in worker.printed() for worker in self.workers)

    def forget_unacknowledged(self) -> None:
        """Forget the messages of workers that died, which come back in an hour."""
        with Redis.from_url(self.broker.url) as client:
            client.delete("unacked", "unacked_index")


def wait_for(condition: Callable[[], object], seconds: float = 300) -> None:
    """Wait for a condition, and leave the cores to who brings it about."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise RuntimeError(f"It was not done in {seconds} s.")
        time.sleep(_LOOK_SECONDS)


def _is_published() -> bool:
    if Page.objects.dirty().filter(section__site=_SITE).exists():
        return False
    return Page.objects.of(_SITE, INDEX).filter(built__gt=0).exists()


@contextmanager
def start_crew(
    url: str, n_workers: int, rows: int, limit: int, **overrides: Any
) -> Iterator[Crew]:
    """Run workers of one process each, for the time of a ``with`` block."""
    broker = Broker(url)
    with ExitStack() as stack:
        stack.enter_context(messages_to(broker))
        workers = [
            stack.enter_context(
                start_worker(
                    broker,
                    include=[f"{__package__}.celery_section"],
                    # Or they would be another version of the project.
                    ROOT_URLCONF=settings.ROOT_URLCONF,
                    LANGUAGES=settings.LANGUAGES,
                    BENCHMARK_SECTION=[rows, limit],
                    **overrides,
                )
            )
            for _ in range(n_workers)
        ]
        yield Crew(broker, workers, rows)
