"""Real Celery workers and beats, which work on the database of the test."""

import json
import os
import sys
import tempfile
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import connections
from kombu import pools

from django_sitemaps_plus.executors.base import get_executor
from django_sitemaps_plus.executors.wakeups import Wakeups

from .programs import HANG, Program

ROOT = Path(__file__).parents[3]
APP = "tests.support.celery_app"

#: Of the live settings of a test, those that its workers must share.
_SHARED = ("MEDIA_ROOT", "STORAGES", "CACHES", "SITEMAPS_PLUS")


@dataclass(frozen=True, slots=True)
class Broker:
    url: str
    queue: str = field(default_factory=lambda: f"tests-{uuid.uuid4()}")

    def settings(self) -> dict[str, Any]:
        return {
            "CELERY_BROKER_URL": self.url,
            "CELERY_TASK_DEFAULT_QUEUE": self.queue,
            "CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP": True,
        }


@contextmanager
def start_worker(
    broker: Broker,
    *,
    pool: str = "prefork",
    concurrency: int = 1,
    queues: Sequence[str] = (),
    include: Sequence[str] = (),
    app: str = APP,
    options: Sequence[str] = (),
    **overrides: Any,
) -> Iterator[Program]:
    """Run a worker for the time of a ``with`` block.

    Args:
        pool: ``prefork``, or ``solo`` for a single process, which starts sooner.
        concurrency: processes of the pool.
        queues: what it listens to; the broker's own queue unless told.
        include: modules that it imports, for the tasks and sections in them.
        app: where the Celery app is.
        options: of ``celery worker``, besides.
        overrides: Django settings of the worker, which hold JSON.
    """
    command = [
        *("worker", "--hostname", f"{uuid.uuid4()}@test", "--pool", pool),
        *("--concurrency", str(concurrency), "--queues"),
        ",".join(queues or [broker.queue]),
        # What workers tell each other takes time, and no test looks at it.
        *("--without-mingle", "--without-gossip"),
        *(["--include", ",".join(include)] if include else []),
        *options,
    ]
    with _running(app, command, " ready.", broker, overrides) as worker:
        yield worker


@contextmanager
def start_beat(
    broker: Broker, schedule: Mapping[str, Any], *, app: str = APP, **overrides: Any
) -> Iterator[Program]:
    overrides["CELERY_BEAT_SCHEDULE"] = schedule
    # In its directory, with which it goes.
    command = ["beat", "--schedule", "{directory}/schedule", "--pidfile", ""]
    command += ["--max-interval", "1"]
    with _running(app, command, "beat: Starting...", broker, overrides) as beat:
        yield beat


@contextmanager
def _running(
    app: str,
    command: Sequence[str],
    ready: str,
    broker: Broker,
    overrides: Mapping[str, Any],
) -> Iterator[Program]:
    with tempfile.TemporaryDirectory(prefix="sitemaps-plus-worker-") as directory:
        words = [word.replace("{directory}", directory) for word in command]
        program = Program(
            # Ready is what it logs at INFO.
            [sys.executable, "-m", "celery", "-A", app, *words, "--loglevel", "INFO"],
            directory=Path(directory),
            environment=environment(**broker.settings(), **overrides),
            ready=ready,
        )
        with program.started():
            yield program


def environment(**overrides: Any) -> dict[str, str]:
    """Return the environment of a process that works where this test does."""
    given = {name: getattr(settings, name) for name in _SHARED} | overrides
    return {
        **os.environ,
        "DJANGO_SETTINGS_MODULE": "tests.support.worker_settings",
        "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]),
        "TEST_DATABASE": json.dumps(_database()),
        "TEST_SETTINGS": json.dumps(given, default=str),
    }


def _database() -> dict[str, Any]:
    # Whose name is by now that of the *test* database.
    found = connections["default"].settings_dict
    names = ("ENGINE", "NAME", "USER", "PASSWORD", "HOST", "PORT", "OPTIONS")
    return {name: found[name] for name in names}


def pooled() -> dict[str, Any]:
    """Return DATABASES that leads there by a pool of connections, as PostgreSQL has."""
    return {"default": {**_database(), "OPTIONS": {"pool": True}}}


def send_wakeups() -> None:
    """Return once all wake-ups of this process are sent; a thread sends them."""
    for found in vars(get_executor()).values():
        if isinstance(found, Wakeups):
            found.wait(HANG)


@contextmanager
def messages_to(broker: Broker) -> Iterator[Any]:
    """Let this process send its messages to a broker; give its Celery app."""
    from tests.support.celery_app import app

    names = ("broker_url", "task_default_queue")
    before = {name: app.conf[name] for name in names}
    app.conf.update(broker_url=broker.url, task_default_queue=broker.queue)
    _forget_connections(app)
    try:
        yield app
    finally:
        send_wakeups()
        _forget_connections(app)
        app.conf.update(before)


def _forget_connections(app: Any) -> None:
    # An app opens its pools once, for the broker that it had then.
    pools.reset()
    app._pool = None
    app.amqp.__dict__.pop("queues", None)  # which begin with the default queue
    app.amqp._producer_pool = None
