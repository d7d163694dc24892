"""T21: however many ask for refreshes at once, one builder at a time has a page."""

from __future__ import annotations

import os
import time
from contextlib import ExitStack
from pathlib import Path

import pytest
from django.core.cache import cache

from django_sitemaps_plus import tasks
from django_sitemaps_plus.building.refresh import refresh
from tests.servers.programs import wait_until
from tests.servers.running import sweeping, working
from tests.testapp.models import Product

from .published import published_urls
from .shop import IS_SOAK, STEP, PlainSource, add_quietly, rename, table, unfinished

pytestmark = pytest.mark.django_db(transaction=True)

BEATS = 3
ASKED = 200 if IS_SOAK else 20


class WatchedSource(PlainSource):
    """Who renders a page says in a file when it begins and when it ends."""

    def location(self, item: Product) -> str:
        """Return its URL."""
        position = item.pk // STEP % self.limit
        if position == 0:
            _note(item.pk, "begins")
        elif position == self.limit - 1:
            time.sleep(0.02)  # so that others may come between
            _note(item.pk - position * STEP, "ends")
        return f"/products/{item.slug}/"


def _note(page: int, what: str) -> None:
    descriptor = os.open(cache.get("notes"), os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.write(descriptor, f"{page} {os.getpid()} {what}\n".encode())
    os.close(descriptor)


def overlaps(notes: Path) -> tuple[int, list[str]]:
    """Return how often pages were rendered, and where two did so at once."""
    at_work: dict[str, str] = {}
    found, count = [], 0
    for line in notes.read_text().splitlines():
        page, pid, what = line.split()
        if what == "ends":
            at_work.pop(page, None)
            continue
        count += 1
        if at_work.setdefault(page, pid) != pid:
            found.append(f"page of {page}: {pid} while {at_work[page]} had it")
    return count, found


def test_beats_and_refreshes_at_once(celery, sections, tmp_path, figures):
    """No page is rendered twice at a time, and every change is published."""
    notes = tmp_path / "notes"
    cache.set("notes", str(notes), timeout=None)
    add_quietly(range(0, 100 * STEP, STEP))
    sections.register("products", WatchedSource)
    refresh()
    notes.write_text("")
    with ExitStack() as stack:
        workers = stack.enter_context(working(celery, WatchedSource, 2))
        for _ in range(BEATS):
            stack.enter_context(sweeping(celery))
        for number in range(ASKED):
            # A change on each page, committed before the message is sent.
            keys = [page * 10 * STEP + number % 10 * STEP for page in range(10)]
            rename(keys, f"change-{number}")
            tasks.refresh.delay(["products"])
        wait_until(lambda: published_urls() == table(), "every change is published")
        wait_until(lambda: not unfinished(), "nothing is left to do")
        done = sum(worker.printed().count(" succeeded in ") for worker in workers)
        failed = sum(worker.printed().count("Traceback") for worker in workers)
    lost = sorted(set(table()) - set(published_urls()))
    rendered, bad = overlaps(notes)
    figures(
        "schedulers",
        seed="none",
        points=ASKED,
        kills=0,
        lost=len(lost),
        bad=len(bad),
        beats=BEATS,
        tasks=done,
        rendered=rendered,
    )
    assert bad == []
    assert lost == []
    assert failed == 0
    assert rendered >= 10
