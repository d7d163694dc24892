"""What the example project is, by its environment: its broker, cache and engines."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

import pytest

from tests.support.servers.asked import start_asked
from tests.support.servers.programs import HOST

from .site import HANG, ROOT

SETTINGS = "example_project.settings"

#: Prints what it is; checks have no doubts, of the level that it is given.
LOOK = """
import json, sys, django
django.setup()
from django.conf import settings
from django.core.management import call_command
from django_sitemaps_plus.conf import notifies_engines
call_command("check", tags=["sitemaps_plus"], fail_level=sys.argv[1], stdout=sys.stderr)
engines = settings.SITEMAPS_PLUS.get("ENGINES", {}).values()
print(json.dumps({
    "imported": "celery" in sys.modules,
    "executor": settings.SITEMAPS_PLUS.get("EXECUTOR"),
    "broker": settings.CELERY_BROKER_URL,
    "cache": settings.CACHES["default"],
    "tasks": sorted(entry["task"] for entry in settings.CELERY_BEAT_SCHEDULE.values()),
    "engines": [[e["OPTIONS"]["endpoint"] for e in engines], notifies_engines()],
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

#: Seconds that nobody waits who has a time limit; without one a send hangs for ever.
MAX_SECONDS = 5.0

OURS = ("CACHE", "CELERY", "REDIS", "INDEXNOW", "BASE_URL", "DEBUG")


def environment(**variables: str) -> dict[str, str]:
    """Return ours without what the project reads, and what is given."""
    ours = {k: v for k, v in os.environ.items() if not k.startswith(OURS)}
    return {**ours, "DJANGO_SETTINGS_MODULE": SETTINGS, **variables}


def look(level: str = "WARNING", **variables: str) -> dict[str, Any]:
    """Return what the project is when these variables are set."""
    printed = subprocess.check_output(
        [sys.executable, "-c", LOOK, level],
        cwd=ROOT,
        env=environment(**variables),
        timeout=HANG,
    )
    found: dict[str, Any] = json.loads(printed)
    return found


def test_without_a_broker_nothing_imports_celery():
    """Work runs inline, and Celery need not be installed."""
    found = look()
    assert (found["imported"], found["executor"]) == (False, None)
    assert found["broker"] == "redis://127.0.0.1:6379/0"


@pytest.mark.parametrize("name", ["CELERY_BROKER_URL", "REDIS_URL"])
def test_a_broker_in_the_environment_chooses_celery(name):
    """For the web site as for the workers."""
    found = look(**{name: "redis://127.0.0.1:7/3"})
    assert found["imported"] is True
    assert found["executor"] == "django_sitemaps_plus.tasks.CeleryExecutor"
    assert found["broker"] == "redis://127.0.0.1:7/3"


def test_a_cache_in_the_environment_is_used():
    """With time limits, so that one which does not answer hangs no request."""
    url = "redis://127.0.0.1:7/5"
    assert look(CACHE_URL=url)["cache"] == {
        "BACKEND": "django.core.cache.backends.redis.RedisCache",
        "LOCATION": url,
        "OPTIONS": {"socket_connect_timeout": 0.25, "socket_timeout": 0.25},
    }


def test_beat_sends_what_keeps_sitemaps_right():
    """Look for changes, compare, tidy up, tell engines."""
    assert look()["tasks"] == [
        f"django_sitemaps_plus.tasks.{name}"
        for name in ("audit", "notify", "prune", "refresh")
    ]


def test_a_lost_broker_delays_nobody_for_long(chaos):
    """Silent, broken or refused: the project's own time limits hold."""
    url = f"redis://{HOST}:{chaos.port}/0"
    settings = environment(CELERY_BROKER_URL=url)
    with start_asked("-c", SEND, environment=settings) as sender:
        for fault in (chaos.heal, chaos.black_hole, chaos.reset, chaos.refuse):
            fault()
            for _ in range(2):  # the first may have a connection, or make one
                assert float(sender.ask("celery.accumulate")) < MAX_SECONDS, fault


def test_nobody_is_told_as_it_comes():
    """Whoever tries it tells the world nothing, public or not."""
    for given in ({}, {"DEBUG": "off", "BASE_URL": "https://atlas.shop"}):
        assert look("CRITICAL", **given)["engines"] == [[], False]


def test_an_engine_of_this_machine_is_told_where_it_is_named():
    """Under DEBUG, and of a site that is not public either."""
    url = "http://127.0.0.1:8100/indexnow"
    found = look("CRITICAL", INDEXNOW_ENDPOINT=url, INDEXNOW_KEY="0123456789abcdef")
    assert found["engines"] == [[url], True]


@pytest.mark.parametrize(
    ("debug", "base_url", "told"),
    [
        ("on", "https://atlas.shop", False),
        ("off", "http://localhost:8000", False),
        ("off", "https://atlas.shop", True),
    ],
)
def test_a_public_engine_is_told_of_a_public_site_only(debug, base_url, told):
    """Named or not, it never hears of a machine at home."""
    url = "https://api.indexnow.org/indexnow"
    found = look("CRITICAL", INDEXNOW_ENDPOINT=url, DEBUG=debug, BASE_URL=base_url)
    assert found["engines"] == [[url], told]
