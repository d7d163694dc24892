"""T34: of three hosts one is cut off while it builds, and clocks are far apart.

Database, broker and S3 are with the web server on one host, where tests are too; each
of the others has a Celery worker. Nothing but a network is between them.
"""

import random
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from typing import Any

import pytest
from django.core.management import call_command
from django.db import connection

from django_sitemaps_plus.models import Change, Page
from tests.support.configuring import configure
from tests.support.servers.engine import LocalEngine, start_engine
from tests.support.servers.fixtures import celery_on
from tests.support.servers.postgresql import PostgreSQL, start_postgresql, use_database
from tests.support.servers.programs import Program, wait_until
from tests.support.servers.running import sweeping, working
from tests.support.servers.s3 import start_moto_program
from tests.support.servers.valkey import Valkey, start_valkey
from tests.support.servers.workers import Broker

from .tools.hosts import HUB, Host, networked
from .tools.outage import KEYS, Crawler, SmallPages, repeating
from .tools.processes import serving
from .tools.published import published_urls
from .tools.shop import IS_SOAK, publish, rename, some_seed, table, unfinished
from .tools.under_fire import is_drained, tell_soon

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif(not IS_SOAK, reason="hosts are cut off with SOAK=1 alone"),
]

CUTS = 20

#: Seconds by which the clocks of the workers are ahead of the database's.
CLOCKS = (600, -600)

#: As the documentation has them, for a lease of 2 s: each side of a connection notices
#: that the other is gone.
OPTIONS = {
    "keepalives_idle": 1,
    "keepalives_interval": 1,
    "keepalives_count": 1,
    "tcp_user_timeout": 1_000,
    "options": "-c tcp_keepalives_idle=1 -c tcp_keepalives_interval=1"
    " -c tcp_keepalives_count=1 -c tcp_user_timeout=1000",
}

#: Flips take a while, so that a host can be cut off in one.
SLOW_FLIPS = """
    CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS
    'BEGIN PERFORM pg_sleep(0.02); RETURN NEW; END';
    CREATE TRIGGER slow BEFORE UPDATE OF object ON sitemaps_plus_page
    FOR EACH ROW EXECUTE FUNCTION slow()
"""

#: The port of engines; each host has its own, since only loopback may be http.
PORT = 8100


class Site:
    def __init__(self, database: PostgreSQL, valkey: Valkey) -> None:
        self.database, self.valkey = database, valkey
        self.workers: dict[Host, Program] = {}
        self.engines: list[LocalEngine] = []
        self.restarts = 0

    def told(self) -> set[str]:
        return {url for engine in self.engines for url in engine.accepted()}

    def wait(self, condition: Callable[[], object], *hosts: Host) -> float:
        """Return after how many seconds a condition holds, with workers on hosts."""
        began = time.monotonic()

        def holds() -> object:
            for host in hosts:
                if not self.workers[host].is_running():
                    self.restarts += 1
                    with host.entered():
                        self.workers[host].start(waits=False)
            return condition()

        try:
            wait_until(holds, str(condition))
        except AssertionError as error:
            for host, worker in self.workers.items():
                error.add_note(f"{host.name}: {worker.printed()[-5_000:]}")
            raise
        return time.monotonic() - began

    def has_gone_on(self, host: Host, before: str) -> bool:
        """Return whether a worker has done a task since it had printed so much."""
        printed = self.workers[host].printed().removeprefix(before)
        return " succeeded in " in printed


@pytest.fixture
def site(sections: Any, settings: Any) -> Iterator[Site]:
    """Have a published section, whose changes workers on two hosts build and tell."""
    with ExitStack() as stack:
        hosts = stack.enter_context(networked(*CLOCKS))
        database = stack.enter_context(start_postgresql())
        database.listen(HUB)
        database.settings["OPTIONS"] = OPTIONS
        stack.enter_context(use_database(database.settings))
        call_command("migrate", run_syncdb=True, verbosity=0)
        with connection.cursor() as cursor:
            cursor.execute(SLOW_FLIPS)
        valkey = stack.enter_context(start_valkey())
        s3 = stack.enter_context(start_moto_program())
        settings.STORAGES = {**settings.STORAGES, "sitemaps": s3.storage()}
        configure(settings, STORAGE="sitemaps")
        tell_soon(settings, f"http://127.0.0.1:{PORT}")
        broker = Broker(valkey.url)
        stack.enter_context(celery_on(broker, valkey.url_of(1), settings))
        publish(len(KEYS), SmallPages)
        site = Site(database, valkey)
        for host in hosts:
            with host.entered():
                site.engines.append(stack.enter_context(start_engine(port=PORT)))
                [site.workers[host]] = stack.enter_context(
                    working(broker, SmallPages, CELERY_WORKER_PREFETCH_MULTIPLIER=1)
                )
        # Messages expire by the clocks of workers.
        stack.enter_context(sweeping(broker, "refresh", "notify", expires=3_600))
        yield site


def both_build(host: Host) -> bool:
    claims = Page.objects.exclude(token="").values("token").distinct()
    return claims.count() == 2


def flips(host: Host) -> bool:
    """Return whether a host is in the transaction of a flip."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT 1 FROM pg_stat_activity WHERE xact_start IS NOT NULL"
            ' AND client_addr = %s AND query LIKE \'UPDATE "sitemaps_plus_page" SET'
            ' "built"%%\'',
            [host.address],
        )
        return bool(cursor.fetchone())


def is_built() -> bool:
    return not (Change.objects.exists() or Page.objects.dirty().exists())


def test_cut_off_at_work(site: Site, figures: Callable[..., None]):
    """No reading is torn, and nothing is lost, nor left to the host that is away."""
    chance = random.Random(seed := some_seed(0))
    urls, seconds, at_work = {*table()}, [], 0  # all that come or go
    with serving() as address, ExitStack() as stack:
        crawler = Crawler(f"http://{address}", site.database)
        stack.enter_context(repeating(crawler.turn))
        for number in range(CUTS):
            away, other = chance.sample(list(site.workers), 2)
            is_at_work = partial([both_build, flips][number % 2], away)
            rename(KEYS, f"cut{number}")
            site.wait(is_at_work, away, other)
            time.sleep(chance.uniform(0, 0.1))
            away.cut_off()
            at_work += is_at_work()
            rename(chance.sample(KEYS, 5), f"meanwhile{number}")
            seconds.append(round(site.wait(is_built, other), 1))
            urls |= {*table()}
            before = site.workers[away].printed()
            away.join()
            site.wait(partial(site.has_gone_on, away, before), away, other)
            site.valkey.kill()
            rename(KEYS, f"lost{number}")
            site.valkey.start()
            site.wait(is_drained, away, other)
            urls |= {*table()}
        lost = sorted({*table()} ^ {*published_urls()})
    lost += [*urls - site.told(), *unfinished()]
    figures(
        "hosts cut off",
        seed=seed,
        points=CUTS,
        at_work=at_work,
        bad=crawler.bad,
        lost=lost,
        seconds_until_others_had_built=seconds,
        readings=crawler.whole,
        answers=dict(crawler.statuses),
        restarts=site.restarts,
    )
    assert at_work >= CUTS // 2
    assert crawler.whole
