"""Run a build in this process, or share it among processes of this machine."""

from __future__ import annotations

import multiprocessing
import sys
from collections.abc import Callable
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from functools import partial
from typing import Any, TypeVar

import django
from django.core.cache import caches
from django.core.files.storage import default_storage, storages
from django.db import connections
from django.utils.functional import empty

from django_sitemaps_plus.exceptions import BuildError
from django_sitemaps_plus.executors.base import Executor

J = TypeVar("J")
R = TypeVar("R")


class LocalExecutor(Executor):
    """Runs builds in commands only, so wake-ups do nothing."""


def share(
    function: Callable[[J], R],
    here: J,
    elsewhere: J,
    workers: int,
    *,
    on_death: Callable[[], object] = bool,
) -> list[R]:
    """Let several processes do the same work; return the results, our own first.

    The function is called with ``here`` in this process, and with ``elsewhere`` in each
    of the others. Once one of these has died, all of them are ended, and another thread
    calls ``on_death``.

    Raises:
        BuildError: a worker process died.
    """
    # A connection must not be shared with a child; each opens its own.
    connections.close_all()
    caches.close_all()
    with ProcessPoolExecutor(workers - 1, _context(), initializer=_set_up) as pool:
        futures = [pool.submit(function, elsewhere) for _ in range(workers - 1)]
        for future in futures:
            future.add_done_callback(partial(_note_death, on_death))
        own = function(here)
        try:
            return [own, *(future.result() for future in futures)]
        except BrokenProcessPool as error:
            raise BuildError(
                "a worker process died, perhaps for want of memory; try fewer workers"
            ) from error


def _note_death(on_death: Callable[[], object], future: Future[Any]) -> None:
    if isinstance(future.exception(), BrokenProcessPool):
        on_death()


def _context() -> multiprocessing.context.BaseContext:
    # Forked children need not import the project again; elsewhere fork is unsafe.
    return multiprocessing.get_context("fork" if sys.platform == "linux" else "spawn")


def _set_up() -> None:
    django.setup()
    _forget_storages()


def _forget_storages() -> None:
    """Let this process make storages of its own.

    Two that use one connection, as to S3, read each other's answers. A storage that a
    ``FileField`` was given stays; sources that ask it are not for several processes.
    """
    handler: Any = storages  # their types do not know what they keep
    default: Any = default_storage
    handler._storages.clear()
    default._wrapped = empty
