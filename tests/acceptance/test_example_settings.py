"""What the example project is, by its environment: its broker, cache and engines."""

import json
import os
import re
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
from django_sitemaps_plus.sites import notifies_engines
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


def look(level: str, **variables: str) -> dict[str, Any]:
    printed = subprocess.check_output(
        [sys.executable, "-c", LOOK, level],
        cwd=ROOT,
        env=environment(**variables),
        timeout=HANG,
    )
    found: dict[str, Any] = json.loads(printed)
    return found


BROKER, CACHE = "redis://127.0.0.1:7/3", "redis://127.0.0.1:7/5"
BY_CELERY = {
    "imported": True,
    "executor": "django_sitemaps_plus.tasks.CeleryExecutor",
    "broker": BROKER,
}
HOME, WORLD = "http://127.0.0.1:8100/indexnow", "https://api.indexnow.org/indexnow"
MAKEFILE = (ROOT / "Makefile").read_text()
#: What `make demo` says that `make run` needs to tell the engine at home.
NAMED = dict(re.findall(r"(INDEXNOW_\w+)=(\S+)", MAKEFILE))
PUBLIC = {"DEBUG": "off", "BASE_URL": "https://atlas.shop"}
ENGINE = {"INDEXNOW_ENDPOINT": WORLD, **PUBLIC}

#: What is in the environment, the level at which checks fail, and what it is then.
SITUATIONS: dict[str, tuple[dict[str, str], str, dict[str, Any]]] = {
    # Work runs inline, Celery need not be installed, and the world is told nothing.
    "nothing": (
        {},
        "WARNING",
        {
            "imported": False,
            "executor": None,
            "broker": "redis://127.0.0.1:6379/0",
            "tasks": [
                f"django_sitemaps_plus.tasks.{name}"
                for name in ("audit", "notify", "prune", "refresh")
            ],
            "engines": [[], False],
        },
    ),
    "broker": ({"CELERY_BROKER_URL": BROKER}, "WARNING", BY_CELERY),
    # With time limits, so that a cache which does not answer hangs no request.
    "redis": (
        {"REDIS_URL": BROKER, "CACHE_URL": CACHE},
        "WARNING",
        {
            **BY_CELERY,
            "cache": {
                "BACKEND": "django.core.cache.backends.redis.RedisCache",
                "LOCATION": CACHE,
                "OPTIONS": {"socket_connect_timeout": 0.25, "socket_timeout": 0.25},
            },
        },
    ),
    "public": (PUBLIC, "CRITICAL", {"engines": [[], False]}),
    # An engine of this machine is told under DEBUG, and of any site.
    "engine at home": (NAMED, "CRITICAL", {"engines": [[HOME], True]}),
    # Another never hears of a machine at home.
    "engine": (ENGINE, "CRITICAL", {"engines": [[WORLD], True]}),
    "engine, DEBUG": (
        {**ENGINE, "DEBUG": "on"},
        "CRITICAL",
        {"engines": [[WORLD], False]},
    ),
    "engine, site at home": (
        {**ENGINE, "BASE_URL": "http://localhost:8000"},
        "CRITICAL",
        {"engines": [[WORLD], False]},
    ),
}


def test_the_last_steps_of_the_demo_are_targets_that_fit_its_first():
    """A search engine is among them; Celery is told of saves by `make serve`, too."""
    said = re.findall(r'^\t@echo "(.+)"$', MAKEFILE, re.MULTILINE)
    steps = "\n".join(said).partition("Try next:\n")[2]
    *_, fourth, fifth = re.split(r"^(?=\d\. )", steps, flags=re.MULTILINE)
    assert fourth.startswith("4. make engine plays a search engine")
    assert re.search(r"^   REDIS_URL=\S+ make serve$", fifth, re.MULTILINE)
    assert re.findall(r"make (?:worker|beat)", fifth) == ["make worker", "make beat"]
    targets = re.findall(r"^([\w ]+):", MAKEFILE, re.MULTILINE)
    assert set(re.findall(r"make (\w+)", steps)) <= set(" ".join(targets).split())


@pytest.mark.parametrize("name", SITUATIONS)
def test_the_project_is_what_its_environment_says(name):
    variables, level, expected = SITUATIONS[name]
    found = look(level, **variables)
    assert {key: found[key] for key in expected} == expected


def test_a_lost_broker_delays_nobody_for_long(chaos):
    """Silent, broken or refused: the project's own time limits hold."""
    url = f"redis://{HOST}:{chaos.port}/0"
    settings = environment(CELERY_BROKER_URL=url)
    with start_asked("-c", SEND, environment=settings) as sender:
        for fault in (chaos.heal, chaos.black_hole, chaos.reset, chaos.refuse):
            fault()
            for _ in range(2):  # the first may have a connection, or make one
                assert float(sender.ask("celery.accumulate")) < MAX_SECONDS, fault
