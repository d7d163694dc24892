"""A program that saves products as told, and prints what that took.

Each line that it reads is a context and a number of saves; it answers with the seconds
of all and of the slowest, and with what was raised. What the database took is left out:
a disk that others keep busy makes a thousand commits some seconds slower.
"""

from __future__ import annotations

import json
import sys
import time
import unittest
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any
from unittest import mock

import django
from django.db import connections, transaction
from django.http import HttpRequest, HttpResponse
from django.test import Client, TestCase, override_settings
from django.urls import path

from django_sitemaps_plus import cache as cached
from django_sitemaps_plus.exceptions import ConfigurationError
from django_sitemaps_plus.executors.base import get_executor
from tests.support import celery_app  # noqa: F401 - whose messages ours are

#: Seconds that no save may take because of us.
MAX_SAVE = 0.3

#: How often saves are tried that take longer.
TRIES = 3


def quickest(save: Callable[[], float]) -> float:
    """Return the least seconds of a few tries; the first that is quick enough ends it.

    A moment for which the machine is busy does not come three times. What we do to a
    save does, where each try meets us as the first: see :func:`forget_failures`.
    """
    least = save()
    for _ in range(TRIES - 1):
        if least <= MAX_SAVE:
            break
        least = min(least, save())
    return least


def forget_failures() -> None:
    """Let cache and broker be asked again, as in a new process, whichever have failed.

    Only the first save after a failure could ever wait for them: then nobody asks them
    for some seconds.
    """
    cached._paused_until.clear()
    with suppress(ConfigurationError):
        vars(get_executor()).pop("wakeups", None)


def in_autocommit(work: Callable[[], None]) -> None:
    """Save as a shell does."""
    work()


def in_atomic(work: Callable[[], None]) -> None:
    """Save in a transaction."""
    with transaction.atomic():
        work()


def in_nested_atomic(work: Callable[[], None]) -> None:
    """Save in a savepoint of a transaction."""
    with transaction.atomic(), transaction.atomic():
        work()


def in_request(work: Callable[[], None]) -> None:
    """Save in a view of a project with ATOMIC_REQUESTS."""

    def view(request: HttpRequest) -> HttpResponse:
        work()
        return HttpResponse()

    urls = type("Urls", (), {"urlpatterns": [path("save/", view)]})
    database = connections.settings["default"]
    with (
        mock.patch.dict(database, ATOMIC_REQUESTS=True),
        override_settings(ROOT_URLCONF=urls),
    ):
        Client().get("/save/")


def in_test_case(work: Callable[[], None]) -> None:
    """Save in a test, which undoes it; what follows a commit is done all the same."""

    class Saving(TestCase):
        def runTest(self) -> None:  # noqa: N802 - as unittest has it
            with self.captureOnCommitCallbacks(execute=True):
                work()

    unittest.TestSuite([Saving()]).debug()


class OwnClock:
    """Counts seconds, but none of those for which the database works."""

    def __init__(self) -> None:
        self._database = 0.0

    def __call__(self) -> float:
        """Return the seconds since any moment."""
        return time.perf_counter() - self._database

    def stop(self, work: Callable[..., Any], *args: Any) -> Any:
        """Let the database do something."""
        began = time.perf_counter()
        try:
            return work(*args)
        finally:
            self._database += time.perf_counter() - began

    @contextmanager
    def stopped_by(self, connection: Any) -> Iterator[None]:
        """Leave out what a database takes, for the time of a ``with`` block."""
        commit = partial(self.stop, connection._commit)
        with (
            connection.execute_wrapper(self.stop),
            mock.patch.object(connection, "_commit", commit),
        ):
            yield


def save(context: str, count: int) -> dict[str, object]:
    """Save a product so often; return what it took."""
    from tests.support.testapp.models import Product

    forget_failures()
    product = Product.objects.order_by("pk")[0]
    slowest, raised, clock = 0.0, [], OwnClock()
    with clock.stopped_by(connections["default"]):
        began = clock()
        for number in range(count):
            product.slug = f"{context}-{number}"
            start = clock()
            try:
                globals()[f"in_{context}"](product.save)
            except Exception as error:  # noqa: BLE001 - whatever it is, it is reported
                raised.append(repr(error))
            slowest = max(slowest, clock() - start)
        seconds = clock() - began
    return {"seconds": seconds, "slowest": slowest, "raised": raised[:3]}


def main() -> None:
    """Answer each line."""
    django.setup()
    from tests.support.servers import sections  # noqa: F401 - they are registered

    for line in sys.stdin:
        context, count = line.split()
        print(json.dumps(save(context, int(count))), flush=True)


if __name__ == "__main__":
    main()
