"""Run a build in this process, or share it with other processes of this machine."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import signal
import sys
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection
from threading import Thread
from types import ModuleType
from typing import Any, Self, TypeVar

import django
from django.conf import settings
from django.db import Error, connections

from django_sitemaps_plus.conf import is_test_run
from django_sitemaps_plus.exceptions import BuildError
from django_sitemaps_plus.executors.base import Executor
from django_sitemaps_plus.outages import in_one_line

J = TypeVar("J")
R = TypeVar("R")

# Databases in use: the name of each, and where the parent finds tables in it.
_Databases = dict[str, tuple[Any, Any]]

#: Seconds that a helper has to give up its pages when it is asked to end.
END_SECONDS = 10


class LocalExecutor(Executor):
    """Runs builds in commands only, so wake-ups do nothing."""


class Helpers:
    """Processes of this machine that help to build, for the time of a ``with`` block.

    They are spawned once they are needed, which takes a second, and then kept. None is
    forked: connections and their pools, threads and locks do not survive a fork.
    """

    def __init__(
        self,
        count: int,
        surroundings: Callable[[], AbstractContextManager[Any]] = nullcontext,
    ) -> None:
        """Take how many they are, and a name of what each does its work in."""
        self._count = count
        self._surroundings = surroundings
        self._children: list[_Child] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._end(self._children)

    @property
    def have_died(self) -> bool:
        """Whether one of them, or more, has died."""
        return not all([child.process.is_alive() for child in self._children])

    def share(self, function: Callable[[J], R], here: J, elsewhere: J) -> list[R]:
        """Call a function with one value here, and with another in each helper.

        Returns:
            The results, our own first.

        Raises:
            BuildError: a helper died. The others have done what there was to do.
        """
        try:
            if not self._children:
                self._start()
            for child in self._children:
                child.send((function, elsewhere))
            own = function(here)
            # Nothing is left for those that have not even begun.
            self._end([child for child in self._children if not child.take_ready()])
            answers = [child.answer() for child in self._children]
            for _, error in answers:
                if error is not None:
                    raise error
        except BaseException:
            self._end(self._children)
            raise
        return [own, *[result for result, _ in answers]]

    def _start(self) -> None:
        context = multiprocessing.get_context("spawn")
        # A test run has databases with other names than the settings say.
        databases = {it.alias: (it.settings_dict["NAME"], _place(it)) for it in _used()}
        main = sys.modules["__main__"]
        # A child runs that module again: without a guard it would start children too.
        sys.modules["__main__"] = ModuleType("__main__")
        try:
            for _ in range(self._count):
                own, its = context.Pipe()
                given = (its, settings.SETTINGS_MODULE, is_test_run(), databases)
                process = context.Process(target=_help, args=given, daemon=True)
                process.start()
                its.close()  # so that reading fails once it has died
                self._children.append(_Child(process, own))
        finally:
            sys.modules["__main__"] = main
        for child in self._children:
            child.send(self._surroundings)

    def _end(self, children: list[_Child]) -> None:
        """End some of them; each gives up the pages that it is at work on."""
        self._children = [it for it in self._children if it not in children]
        for child in children:
            child.pipe.close()
            child.process.terminate()
        for child in children:
            child.process.join(END_SECONDS)
            child.process.kill()
            child.process.join()
            child.process.close()


@dataclass(slots=True, eq=False)
class _Child:
    process: Any
    pipe: Connection
    is_ready: bool = False

    def send(self, given: Any) -> None:
        with suppress(OSError):  # it died, as its answer says
            self.pipe.send(given)

    def take_ready(self) -> bool:
        """Take the message that comes first; return whether it is set up, or died."""
        if not self.is_ready and self.pipe.poll():
            self.is_ready = True
            with suppress(EOFError, OSError):
                self.pipe.recv()
        return self.is_ready

    def answer(self) -> tuple[Any, BaseException | None]:
        try:
            answer: tuple[Any, BaseException | None] = self.pipe.recv()
        except (EOFError, OSError):
            return None, BuildError(
                "a worker process died, perhaps for want of memory; try fewer workers"
            )
        return answer


def reason_against() -> str:
    """Return why this process cannot have helpers; "" if it can."""
    if settings.SETTINGS_MODULE is None:
        return "its settings are not those of a module, which others could import"
    if multiprocessing.current_process().daemon:
        return "a process of a pool must not start others"
    for connection in _used():
        if connection.in_atomic_block:
            return f"database {connection.alias!r} has an open transaction"
        if connection.vendor == "sqlite" and connection.is_in_memory_db():
            return f"database {connection.alias!r} is in its memory"
    return ""


def _used() -> Sequence[Any]:
    return connections.all(initialized_only=True)


#: Queries that tell where tables are found: some projects change that as they run.
_PLACES = {
    "postgresql": "SELECT current_database(), current_schema()",
    "mysql": "SELECT DATABASE()",
}


def _place(connection: Any) -> Any:
    """Return where tables are found; None if unknown, as where the database is down."""
    if connection.vendor not in _PLACES:
        return None
    try:
        with connection.cursor() as cursor:
            cursor.execute(_PLACES[connection.vendor])
            return cursor.fetchone()
    except Error:  # only the database of the pages must work
        return None


def _help(
    parent: Connection, module: str, is_test: bool, databases: _Databases
) -> None:
    """Become what the parent is, and do what it asks for until it ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent ends what it has started
    signal.signal(signal.SIGTERM, lambda *_: sys.exit())  # which releases claims

    def end_with_parent() -> None:
        process: Any = multiprocessing.parent_process()
        process.join()
        os.kill(os.getpid(), signal.SIGTERM)

    Thread(target=end_with_parent, daemon=True).start()
    os.environ["DJANGO_SETTINGS_MODULE"] = module
    django.setup()
    if is_test:
        from django.test.utils import setup_test_environment

        setup_test_environment()
    for alias, (name, _) in databases.items():
        connections[alias].settings_dict["NAME"] = name
    with suppress(EOFError), parent.recv()():
        parent.send("ready")
        while True:
            function, given = parent.recv()
            answer: tuple[Any, Exception | None]
            try:
                for alias, (_, place) in databases.items():
                    own = _place(connections[alias])
                    if None not in (own, place) and own != place:
                        raise BuildError(
                            f"a worker process finds the tables of database {alias!r} "
                            f"in {own}, and the command in {place}. Run it with "
                            "--workers 1"
                        )
                answer = function(given), None
            except Exception as error:  # noqa: BLE001 - raised in the parent
                answer = None, error
                try:
                    pickle.loads(pickle.dumps(error))  # noqa: S301 - ours
                except Exception:  # noqa: BLE001 - whatever its class raises
                    answer = None, BuildError(in_one_line(error))
            parent.send(answer)
