"""T10 for the database: it crashes under builders, savers and crawlers, and is back.

The server is the test's own, whatever the other tests run on.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import pytest
from django.core.management import call_command
from django.db import connections

from django_sitemaps_plus.models import Page, Worker
from django_sitemaps_plus.views.responses import RETRY_AFTER
from tests.support.servers.postgresql import PostgreSQL, start_postgresql, use_database
from tests.support.servers.programs import wait_until
from tests.support.servers.running import keeping, sweeping, working
from tests.support.testapp.models import Product
from tests.support.web import WebClient

from .test_recovery import MAX_SECONDS
from .tools.outage import (
    KEYS,
    PAUSE_SECONDS,
    Builders,
    Crawler,
    Saver,
    SmallPages,
    build_for_ever,
)
from .tools.processes import running, serving
from .tools.public import unlike_pages
from .tools.published import published_urls
from .tools.shop import (
    IS_SOAK,
    lost_objects,
    publish,
    rename,
    some_seed,
    table,
    unfinished,
)

pytestmark = pytest.mark.django_db(transaction=True)

CRASHES = 10 if IS_SOAK else 1

#: Seconds within which it crashes, once somebody builds.
WITHIN = 0.2


def wait_for_more(count: Callable[[], tuple[int, ...]], what: str) -> None:
    """Return when each of several numbers has grown."""
    before = count()
    wait_until(lambda: all(map(int.__lt__, before, count())), what)


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


@pytest.fixture
def database() -> Iterator[PostgreSQL]:
    """Have tables on a server that may crash."""
    with start_postgresql() as server, use_database(server.settings):
        call_command("migrate", run_syncdb=True, verbosity=0)
        yield server


@pytest.fixture
def builders(database, celery, sections, tmp_path) -> Iterator[Builders]:
    """Have a published section, and who keeps it up to date."""
    publish(len(KEYS), SmallPages)
    notes = tmp_path / "notes"
    notes.touch()
    with (
        running(lambda: build_for_ever(notes)),
        working(celery, SmallPages) as (worker,),
        sweeping(celery),
    ):
        yield Builders(worker, notes)


@pytest.fixture
def url(builders) -> Iterator[str]:
    """Have a web server; give its address."""
    with serving() as address:
        yield f"http://{address}"


def crash(database: PostgreSQL, chance: random.Random) -> None:
    """Let the server crash while somebody builds."""
    wait_until(Page.objects.exclude(token="").exists, "somebody builds")
    time.sleep(chance.uniform(0, WITHIN))
    database.crash()
    connections["default"].close()  # ours broke as well


def wrong_answers(url: str) -> list[str]:
    """Return which documents are not put off until the database is back."""
    client, found = WebClient(url), []
    for path in ("/sitemap.xml", "/sitemap.xml.gz", "/sitemap-products-1.xml"):
        answer = client.get(path)
        said = answer.status_code, answer.get("Retry-After"), answer["Cache-Control"]
        if said != (503, str(RETRY_AFTER), "no-store"):
            found.append(f"{path}: {said}")
    return found


def test_a_database_that_crashes(
    database, builders, url, media_root: Any, figures: Callable[..., None]
):
    """What was committed is published, no page is ever bad, and nobody needs help."""
    chance = random.Random(seed := some_seed(0))
    saver, crawler = Saver(seed), Crawler(url, database)
    bad, resumed = [], []
    with repeating(crawler.turn):
        with repeating(saver.turn):
            for number in range(CRASHES):
                crash(database, chance)
                bad += wrong_answers(url)
                if number % 2 == 0:  # else it is back before some have found it gone
                    wait_for_more(builders.failed, "each builder has failed")
                    wait_for_more(lambda: (saver.failed,), "a save has failed")
                database.start()
                returned = time.monotonic()
                wait_for_more(builders.done, "each builder has succeeded again")
                resumed.append(round(time.monotonic() - returned, 1))
                wait_for_more(lambda: (saver.committed,), "a save has succeeded again")
        wait_until(lambda: not unfinished(), "all that has changed is built")
        wait_for_more(lambda: (crawler.whole,), "it was read once more")
    published = published_urls(crawler)
    lost = [*saver.lost(), *(set(table()) ^ set(published)), *lost_objects()]
    bad += crawler.bad + unlike_pages(media_root)
    figures(
        "database restart",
        seed=seed,
        points=CRASHES,
        kills=CRASHES,
        lost=lost,
        bad=bad,
        seconds_until_all_build_again=resumed,
        saves=saver.committed,
        saves_failed=saver.failed,
        refreshes_failed=sum(builders.failed()),
        readings=crawler.whole,
        answers=dict(crawler.statuses),
    )
    assert max(resumed) <= MAX_SECONDS


def test_a_worker_without_a_broker_goes_on(database, sections):
    """The process stays, says what was wrong, and builds what has changed meanwhile."""
    publish(3, SmallPages)
    with keeping(SmallPages) as worker:
        wait_until(Worker.objects.exists, "it is there")
        database.crash()
        connections["default"].close()
        wait_until(lambda: "OperationalError" in worker.printed(), "it has failed")
        database.start()
        rename(Product.objects.values_list("pk", flat=True), "after")
        wait_until(lambda: sorted(published_urls()) == table(), "it has built again")
        assert worker.is_running()
