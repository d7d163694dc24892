"""The Celery app of the example project: where it sends, and what it does without."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.support.servers.programs import HOST, Program, wait_until

from .site import HANG, ROOT

SETTINGS = "example_project.settings"

#: Prints what Celery would be told, and whether it is there; checks have no doubts.
LOOK = """
import json, sys, django
django.setup()
from django.conf import settings
from django.core.management import call_command
call_command("check", tags=["sitemaps_plus"], fail_level="WARNING", stdout=sys.stderr)
print(json.dumps({
    "imported": "celery" in sys.modules,
    "executor": settings.SITEMAPS_PLUS.get("EXECUTOR"),
    "broker": settings.CELERY_BROKER_URL,
    "cache": settings.CACHES["default"],
    "tasks": sorted(entry["task"] for entry in settings.CELERY_BEAT_SCHEDULE.values()),
}))
"""

#: For each line that it reads, sends a message and prints how many seconds it took.
SEND = """
import sys, time, django
django.setup()
from celery import current_app
for line in sys.stdin:
    begun = time.monotonic()
    try:
        current_app.send_task(line.strip())
    except Exception:
        pass
    print(time.monotonic() - begun, flush=True)
"""


def environment(**variables: str) -> dict[str, str]:
    """Return ours without a broker and a cache, and what is given."""
    others = ("CACHE", "CELERY", "REDIS")
    ours = {k: v for k, v in os.environ.items() if not k.startswith(others)}
    return {**ours, "DJANGO_SETTINGS_MODULE": SETTINGS, **variables}


def look(**variables: str) -> dict[str, object]:
    """Return what the project is when these variables are set."""
    printed = subprocess.check_output(
        [sys.executable, "-c", LOOK],
        cwd=ROOT,
        env=environment(**variables),
        timeout=HANG,
    )
    found: dict[str, object] = json.loads(printed)
    return found


#: What a worker logs of the task that is sent here, one that Celery brings along.
DONE = re.compile(r"Task celery\.accumulate\[\S+\] succeeded")


class Sender:
    """A process of the example project that sends messages."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def send(self) -> float:
        """Send a message; return how many seconds that took."""
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.write("celery.accumulate\n")
        self._process.stdin.flush()
        return float(self._process.stdout.readline())


@contextmanager
def sender(**variables: str) -> Iterator[Sender]:
    """Run such a process for the time of a ``with`` block."""
    with subprocess.Popen(
        [sys.executable, "-c", SEND],
        cwd=ROOT,
        env=environment(**variables),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        # Killed, it ends what it was sending, and so the wait for it.
        watchdog = threading.Timer(HANG, process.kill)
        watchdog.start()
        try:
            yield Sender(process)
        finally:
            watchdog.cancel()
            watchdog.join()
            process.kill()


class TestSettings:
    def test_without_a_broker_nothing_imports_celery(self):
        """Work runs inline, and Celery need not be installed."""
        found = look()
        assert (found["imported"], found["executor"]) == (False, None)
        assert found["broker"] == "redis://127.0.0.1:6379/0"

    @pytest.mark.parametrize("name", ["CELERY_BROKER_URL", "REDIS_URL"])
    def test_a_broker_in_the_environment_chooses_celery(self, name):
        """For the web site as for the workers."""
        found = look(**{name: "redis://127.0.0.1:7/3"})
        assert found["imported"] is True
        assert found["executor"] == "django_sitemaps_plus.tasks.CeleryExecutor"
        assert found["broker"] == "redis://127.0.0.1:7/3"

    def test_a_cache_in_the_environment_is_used(self):
        """With time limits, so that one which does not answer hangs no request."""
        url = "redis://127.0.0.1:7/5"
        assert look(CACHE_URL=url)["cache"] == {
            "BACKEND": "django.core.cache.backends.redis.RedisCache",
            "LOCATION": url,
            "OPTIONS": {"socket_connect_timeout": 0.25, "socket_timeout": 0.25},
        }

    def test_beat_sends_what_keeps_sitemaps_right(self):
        """Look for changes, compare, tidy up, tell engines."""
        assert look()["tasks"] == [
            f"django_sitemaps_plus.tasks.{name}"
            for name in ("audit", "notify", "prune", "refresh")
        ]


class TestBroker:
    def test_a_lost_one_delays_a_save_by_its_timeout_at_most(self, chaos):
        """Silent, broken or refused; 0.5 seconds here, twice the timeout."""
        url = f"redis://{HOST}:{chaos.port}/0"
        with sender(CELERY_BROKER_URL=url) as process:
            process.send()  # makes the connection
            assert process.send() < 0.1
            for fault in (chaos.black_hole, chaos.reset, chaos.refuse):
                fault()
                assert process.send() < 0.5, fault.__name__
                assert process.send() < 0.5, fault.__name__
            chaos.heal()
            process.send()
            assert process.send() < 0.1

    def test_worker_does_what_the_web_site_sends(self, valkey, tmp_path):
        """Over the broker that REDIS_URL names to both."""
        variables = environment(REDIS_URL=valkey.url)
        command = [sys.executable, "-m", "celery", "-A", "example_project.worker"]
        command += ["worker", "--loglevel", "INFO", "--pool", "solo"]
        worker = Program(
            command, directory=tmp_path, environment=variables, ready=" ready."
        )
        with worker.started(), sender(REDIS_URL=valkey.url) as process:
            process.send()
            wait_until(lambda: DONE.search(worker.printed()), "it is done")
