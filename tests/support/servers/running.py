"""Workers and beats for the section of a test, and the messages that wait for them."""

import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from kombu import Connection, Queue
from kombu.exceptions import ChannelError

from django_sitemaps_plus import Source

from .programs import Program
from .workers import Broker, environment, send_wakeups, start_beat, start_worker

#: Seconds after which beat asks again, where a test lets one run.
SWEEP_SECONDS = 0.5


@contextmanager
def working(
    broker: Broker, source: type[Source], count: int = 1, **options: Any
) -> Iterator[list[Program]]:
    """Run workers that know a source as the section "products"."""
    options = {"pool": "solo", **options}
    options["WORKER_SECTIONS"] = {"products": _path(source)}
    with ExitStack() as stack:
        workers = [
            stack.enter_context(
                start_worker(
                    broker, include=["tests.support.servers.sections"], **options
                )
            )
            for _ in range(count)
        ]
        try:
            yield workers
        except AssertionError:
            sys.stderr.write("\n".join([worker.printed() for worker in workers]))
            raise


@contextmanager
def keeping(
    source: type[Source],
    *arguments: str,
    ready: str = "kept up to date",
    **options: Any,
) -> Iterator[Program]:
    """Run ``run_sitemaps``, or another command, which knows a source as "products"."""
    options["WORKER_SECTIONS"] = {"products": _path(source)}
    command = [sys.executable, "-m", "tests.support.servers.run_worker"]
    command += arguments or ["run_sitemaps"]
    with tempfile.TemporaryDirectory(prefix="sitemaps-plus-worker-") as directory:
        program = Program(
            command,
            directory=Path(directory),
            environment=environment(**options),
            ready=ready,
        )
        with program.started():
            yield program


def _path(source: type[Source]) -> str:
    return f"{source.__module__}.{source.__qualname__}"


@contextmanager
def sweeping(broker: Broker, *tasks: str, expires: int = 5) -> Iterator[None]:
    """Run a beat that asks for tasks again and again; for a refresh unless told."""
    schedule = {
        name: {
            "task": f"django_sitemaps_plus.tasks.{name}",
            "schedule": SWEEP_SECONDS,
            "options": {"expires": expires},
        }
        for name in tasks or ["refresh"]
    }
    with start_beat(broker, schedule):
        yield


def waiting(broker: Broker) -> int:
    send_wakeups()
    with Connection(broker.url) as connection, connection.channel() as channel:
        try:
            declared = channel.queue_declare(broker.queue, passive=True)
        except ChannelError:
            return 0  # nobody has sent any
        found: int = declared.message_count
        return found


def take(broker: Broker) -> list[Any]:
    """Take all messages that wait, as a worker would get them."""
    send_wakeups()
    found = []
    with Connection(broker.url) as connection, connection.channel() as channel:
        queue = Queue(broker.queue, channel=channel)
        while message := queue.get(no_ack=True):
            found.append(message)
    return found
