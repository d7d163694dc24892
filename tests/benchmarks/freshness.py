"""Seconds from the commit of an edit to its published page, and to the engine.

Run ``python -m tests.benchmarks.freshness``: the example project renames one city after
another, while a worker of each kind builds and notifies, and nothing is killed.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from statistics import median, quantiles

from tests.acceptance.site import ROOT, Site
from tests.support.servers.engine import LocalEngine, start_engine
from tests.support.servers.programs import Program
from tests.support.servers.valkey import start_valkey

#: The programs of each way to build, as words for Python, and what says that it is
#: ready.
WAYS: dict[str, list[tuple[list[str], str]]] = {
    "run_sitemaps": [(["manage.py", "run_sitemaps"], "kept up to date")],
    "tasks": [(["manage.py", "db_worker", "-v", "3"], "Starting worker")],
    "celery": [
        (["-m", "celery", "-A", "example_project.worker", "worker"], " ready."),
        (
            ["-m", "celery", "-A", "example_project.worker", "beat"],
            "beat: Starting...",
        ),
    ],
}

#: Seconds in which an edit must have arrived everywhere.
HANG = 120


def main() -> None:
    """Measure each way, and print a table; exit with 1 where a limit is exceeded."""
    parser = argparse.ArgumentParser("python -m tests.benchmarks.freshness")
    parser.add_argument("--edits", type=int, default=40, help="%(default)s")
    parser.add_argument("--ways", nargs="+", choices=WAYS, default=[*WAYS])
    parser.add_argument("--commit", type=int, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.commit is not None:
        commit_edits(given.commit)
        return
    print(f"{datetime.now(UTC):%Y-%m-%d}, {given.edits} edits; seconds from a commit")
    print(f"{'':14}{'to the page':>22}{'to the engine':>22}")
    print(f"{'':14}" + f"{'p50':>7}{'p95':>7}{'most':>8}" * 2)
    is_late = False
    for way in given.ways:
        pages, engine = measure(way, given.edits)
        cells = [f"{it:.1f}" for it in (*shown(pages), *shown(engine))]
        print(f"{way:14}" + "".join([f"{it:>7}" for it in cells]), flush=True)
        is_late |= shown(pages)[1] >= 4 or shown(engine)[1] >= 8
    sys.exit(is_late)


def shown(seconds: list[float]) -> tuple[float, float, float]:
    """Return the median, the 95th percentile and the maximum."""
    return (
        median(seconds),
        quantiles(seconds, n=20, method="inclusive")[-1],
        max(seconds),
    )


def measure(way: str, count: int) -> tuple[list[float], list[float]]:
    """Return how long each edit took to its page, and to the engine."""
    with tempfile.TemporaryDirectory() as directory, ExitStack() as stack:
        site = Site(Path(directory))
        stack.callback(site.close)
        engine = stack.enter_context(start_engine(site_url=site.base_url))
        site.environment |= {
            "BENCHMARK_WAY": way,
            "DJANGO_SETTINGS_MODULE": f"{__package__}.fresh_settings",
            "INDEXNOW_ENDPOINT": f"{engine.url}/indexnow",
            "INDEXNOW_KEY": "3f1d0c5a9be24e6f8f0f7a4b1c2d3e4f",
        }
        if way == "celery":
            site.environment["REDIS_URL"] = stack.enter_context(start_valkey()).url
        site.load()
        site.manage("build_sitemaps", "--verbosity", "0")
        stack.enter_context(site.served())
        for number, (words, ready) in enumerate(WAYS[way]):
            place = Path(directory, str(number))
            place.mkdir()
            options = ["--loglevel", "INFO"] if way == "celery" else []
            command = [sys.executable, *words, *options]
            if "beat" in words:
                command += ["--schedule", str(place / "schedule"), "--pidfile", ""]
            program = Program(
                command, directory=place, environment=site.environment, ready=ready
            )
            stack.enter_context(program.started())
        return watch(site, engine, count)


def watch(
    site: Site, engine: LocalEngine, count: int
) -> tuple[list[float], list[float]]:
    """Have edits made, and note when each is published and submitted."""
    public = Path(site.environment["ACCEPTANCE_MEDIA_ROOT"], "sitemaps")
    published: dict[str, float] = {}
    made: dict[str, float] = {}
    stamps: dict[Path, int] = {}
    with committing(site, count) as edits:
        # The thread ends with the process that makes them.
        threading.Thread(target=read_edits, args=(edits, made)).start()
        until = time.monotonic() + HANG + 5 * count
        while len(published) < count or not {*made} <= engine.accepted().keys():
            assert time.monotonic() < until, "an edit has not arrived"
            for file in public.rglob("sitemap-cities-*.xml.gz"):
                stamp = file.stat().st_mtime_ns
                if stamps.get(file) == stamp:
                    continue
                stamps[file], now = stamp, time.time()
                text = gzip.decompress(file.read_bytes()).decode()
                for url in {*made} - published.keys():
                    if f"<loc>{url}</loc>" in text:
                        published[url] = now
            time.sleep(0.02)
    heard = {url: it.at for it in reversed(engine.journal) for url in it.targets}
    pages = [published[url] - at for url, at in made.items()]
    return pages, [heard[url] - at for url, at in made.items()]


def read_edits(edits: Iterable[str], made: dict[str, float]) -> None:
    """Note URL and time of each edit."""
    for line in edits:
        edit = json.loads(line)
        made[edit["url"]] = edit["at"]


@contextmanager
def committing(site: Site, count: int) -> Iterator[Iterable[str]]:
    """Let a process of the site make edits, as a web process does."""
    command = [sys.executable, "-m", __spec__.name, "--commit", str(count)]
    with subprocess.Popen(
        command,
        cwd=ROOT,
        env=site.environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            yield process.stdout
        finally:
            process.stdin.close()


def commit_edits(count: int) -> None:
    """Rename cities, one to four seconds apart, and print URL and time of each."""
    import django

    django.setup()
    from django.conf import settings

    from example_project.atlas.models import City

    chosen = random.Random(1)
    keys = chosen.sample([*City.objects.values_list("pk", flat=True)], count)
    for number, city in enumerate(City.objects.filter(pk__in=keys)):
        city.slug = f"renamed-{number}"
        city.save()
        url = settings.SITEMAPS_PLUS["BASE_URL"] + city.get_absolute_url()
        print(json.dumps({"url": url, "at": time.time()}), flush=True)
        time.sleep(chosen.uniform(1, 4))
    sys.stdin.read()  # the thread that wakes workers lives as long


if __name__ == "__main__":
    main()
