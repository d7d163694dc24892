"""The start of a process with the app, and of a command that finds nothing to do."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator

from django.conf import settings
from django.db import connection

from django_sitemaps_plus.testing import temporary_source
from tests.benchmarks.building import build_all, helped, unbuild
from tests.benchmarks.harness import Contender, Subject, Target, timed
from tests.benchmarks.sources import sized_source

_ROWS = 10_000
_ROUNDS = 15
# Users' modules are compiled once, and not at each start.
_COMPILED = {"PYTHONDONTWRITEBYTECODE": ""}
_SETUP = """
import sys, time
from django.conf import settings
settings.configure(
    INSTALLED_APPS=sys.argv[1:],
    TEMPLATES=[{"BACKEND": "django.template.backends.django.DjangoTemplates"}],
    SITEMAPS_PLUS={"BASE_URL": "https://example.com"},
)
import django
began = time.perf_counter()
django.setup()
print(time.perf_counter() - began)
"""


def setting(rows: int) -> Iterator[Subject]:
    """Compare fresh processes: their set-up, then whole commands."""
    django_apps = [name for name in settings.INSTALLED_APPS if "contrib" in name]
    yield Subject(
        title="The set-up of Django in a fresh process",
        rounds=_ROUNDS,
        contenders=[
            _setup("Django and its admin", django_apps),
            _setup("the app as well", [*django_apps, "django_sitemaps_plus"]),
        ],
        targets=[
            Target("the app as well", beside="Django and its admin", plus=0.050),
        ],
    )
    source = sized_source(_ROWS, _ROWS)
    with helped(_ROWS, _ROWS), temporary_source("products", source):
        unbuild()
        build_all(_ROWS)
        yield Subject(
            title="A command in a process of its own, nothing to do",
            rounds=_ROUNDS,
            contenders=[_command("check"), _command("build_sitemaps")],
            targets=[Target("build_sitemaps", beside="check", times=1.1)],
        )
        unbuild()


def _setup(name: str, apps: list[str]) -> Contender:
    def measure() -> float:
        words = [sys.executable, "-c", _SETUP, *apps]
        environment = {**os.environ, **_COMPILED}
        done = subprocess.run(
            words, env=environment, stdout=subprocess.PIPE, check=True
        )
        return float(done.stdout)

    return Contender(name, measure)


def _command(name: str) -> Contender:
    own = {
        "BENCHMARK_DATABASE": connection.settings_dict["NAME"],
        "BENCHMARK_PLAIN": "",
    }

    def run() -> None:
        words = [sys.executable, "-m", "django", name]
        environment = {**os.environ, **_COMPILED, **own}
        subprocess.run(words, env=environment, stdout=subprocess.DEVNULL, check=True)

    return timed(name, run)
