"""The example project with its worker and beat commands, a reader, and kills."""

import json
import random
import shlex
import shutil
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

import pytest

from tests.acceptance.reader import Reader
from tests.acceptance.site import HANG, ROOT, Site, atlas
from tests.support.servers.engine import LocalEngine, start_engine
from tests.support.servers.programs import Program, wait_until
from tests.support.servers.valkey import Valkey

from .tools.shop import IS_SOAK

#: With SOAK set, all 234,908 cities.
LOAD = ["--all"] if IS_SOAK else []

#: Times that all cities change while somebody is killed.
ROUNDS = 10 if IS_SOAK else 2


@pytest.fixture
def engine() -> Iterator[LocalEngine]:
    with start_engine() as engine:
        yield engine


@pytest.fixture(scope="module")
def cities(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return atlas(tmp_path_factory, *LOAD)


@contextmanager
def serving(site: Site, cities: Path, valkey: Valkey) -> Iterator[Site]:
    """Serve a copy of the cities by a site that knows a broker."""
    shutil.copy(cities, site.directory)
    site.environment["REDIS_URL"] = valkey.url
    site.environment["CACHE_URL"] = valkey.url_of(1)
    with site.served():
        yield site
    site.close()


@pytest.fixture
def site(tmp_path: Path, cities: Path, valkey: Valkey) -> Iterator[Site]:
    """Have a site without engines: telling all cities takes longer than building."""
    with serving(Site(tmp_path), cities, valkey) as site:
        yield site


@pytest.fixture
def telling(
    tmp_path: Path, cities: Path, valkey: Valkey, engine: LocalEngine
) -> Iterator[Site]:
    site = Site(tmp_path)
    site.environment["INDEXNOW_ENDPOINT"] = f"{engine.url}/indexnow"
    site.environment["INDEXNOW_KEY"] = "3f1d0c5a9be24e6f8f0f7a4b1c2d3e4f"
    engine.state.site_url = site.base_url
    with serving(site, cities, valkey):
        yield site


def documented(name: str) -> list[str]:
    """Return what `make worker` or `make beat` runs, without the program."""
    printed = subprocess.check_output(
        ["make", "--no-print-directory", "-n", name], cwd=ROOT, text=True
    )
    return shlex.split(printed.replace("\\\n", " ").splitlines()[-1])[1:]


def program(site: Site, name: str) -> Program:
    """Return a worker or a beat, as the Makefile runs them."""
    directory = site.directory / f"{name}-{random.getrandbits(32):08x}"
    directory.mkdir()
    changed = {"var/beat-schedule": str(directory / "schedule")}
    options = [changed.get(word, word) for word in documented(name)]
    # The shell of the recipe would put the number of its process here.
    options = [word.replace("$$", directory.name) for word in options]
    return Program(
        [sys.executable, "-m", "celery", *options],
        directory=directory,
        environment=site.environment,
        ready=" ready." if name == "worker" else "beat: Starting",
    )


def start_all(workers: list[Program]) -> None:
    for worker in workers:
        worker.start(waits=False)
    for worker in workers:
        wait_until(worker.is_ready, "the workers are ready", HANG)
        assert worker.is_running()


@contextmanager
def at_work(site: Site) -> Iterator[list[Program]]:
    workers = [program(site, "worker") for _ in range(2)]
    beat = program(site, "beat")
    with ExitStack() as stack:
        for started in (*workers, beat):
            stack.callback(started.kill)
        start_all(workers)
        beat.start()
        yield workers


@contextmanager
def reading(site: Site) -> Iterator[Reader]:
    reader, stop = Reader(site.base_url), threading.Event()
    thread = threading.Thread(target=reader.run, args=(stop,), daemon=True)
    thread.start()
    try:
        yield reader
    finally:
        stop.set()
        thread.join(HANG)


def number(site: Site, what: str, condition: str) -> int:
    """Return a number that the pages of cities have, of which a condition holds."""
    sql = f"SELECT {what} FROM sitemaps_plus_page WHERE entries > 10 AND {condition}"  # noqa: S608
    with closing(sqlite3.connect(site.directory / "db.sqlite3", HANG)) as connection:
        found: int = connection.execute(sql).fetchone()[0]
    return found


def pages(site: Site, condition: str) -> int:
    return number(site, "count(*)", condition)


def versions(site: Site) -> int:
    """Return what grows with each page of cities that is built."""
    return number(site, "sum(built)", "1")


def is_done(site: Site) -> bool:
    return pages(site, "1") > 0 and not pages(site, "wanted > built")


def change_all(site: Site) -> None:
    sql = "UPDATE atlas_city SET slug = slug || '-x', updated_at = datetime('now')"
    path = site.directory / "db.sqlite3"
    with closing(sqlite3.connect(path, HANG)) as connection, connection:
        connection.execute(sql)


def is_claimed(site: Site) -> bool:
    """Return whether somebody builds, or was killed while it built."""
    return pages(site, "token <> ''") > 0


def kill_at_work(site: Site, workers: list[Program]) -> int:
    """Change all cities and kill the workers, until that has met a build.

    All of them, since the pages of cities are one batch, which only one of them has.

    Returns:
        How many times they were killed.
    """
    for kills in range(1, 10):
        before = versions(site)
        change_all(site)
        # A build that nobody has seen is over, and has let none begin after it.
        wait_until(lambda: is_claimed(site) or versions(site) > before, "noticed", HANG)  # noqa: B023
        for worker in workers:
            worker.kill()
        if is_claimed(site):
            return kills
        start_all(workers)
        wait_until(lambda: is_done(site), "all is built", HANG)
    pytest.fail("no kill has met a build")


def test_a_reader_sees_no_bad_file_while_workers_and_the_broker_die(
    site: Site, valkey: Valkey, figures: Callable[..., None]
) -> None:
    """And in the end the set is what the tables hold."""
    kills = 0
    with reading(site) as reader, at_work(site) as workers:
        wait_until(lambda: is_done(site), "the first build", HANG)
        for turn in range(ROUNDS):
            kills += kill_at_work(site, workers)
            if turn % 2 == 0:
                assert pages(site, "wanted > built")
                valkey.restart()  # and all messages are lost
            start_all(workers)
            wait_until(lambda: is_done(site), "all is built", HANG)
        before = reader.rounds
        wait_until(lambda: reader.rounds >= before + 2, "it is read", HANG)
    lost = list(set(site.table()) ^ reader.urls)
    points = reader.files
    figures("the example", points=points, kills=kills, lost=lost, bad=reader.bad)


def test_a_rename_in_the_admin_reaches_the_engine(
    telling: Site, engine: LocalEngine
) -> None:
    """Under both addresses, and nothing else does."""
    site = telling
    site.manage("build_sitemaps", "--verbosity", "0")
    with at_work(site):
        wait_until(lambda: is_done(site), "the first build", HANG)
        [path] = json.loads(site.run("-m", "tests.acceptance.editing", "rename"))
        old = site.base_url + path
        both = {old, f"{old.rstrip('/')}-renamed/"}
        wait_until(lambda: engine.accepted().keys() >= both, "told", HANG)
        wait_until(lambda: is_done(site), "it is built", HANG)
    assert engine.accepted() == dict.fromkeys(both, 1)
    assert both - site.table().keys() == {old}
