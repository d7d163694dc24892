"""Work in this process, or shared among processes of this machine."""

from __future__ import annotations

import multiprocessing
import sys
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import TypeVar

import django
from django.db import connections

from django_sitemaps_plus.exceptions import BuildError

J = TypeVar("J")
R = TypeVar("R")


def share(
    function: Callable[[J], R], here: J, elsewhere: J, workers: int = 1
) -> list[R]:
    """Let several processes of this machine do the same work; this one is among them.

    Args:
        function: defined in a module; jobs and results can be pickled.
        here: what it is called with in this process.
        elsewhere: what it is called with in each of the others.
        workers: processes in all.

    Returns:
        All results, this process's own first.

    Raises:
        BuildError: a worker process died.
        Exception: what the work raises, here or elsewhere.
    """
    if workers <= 1:
        return [function(here)]
    # A connection must not be shared with a child; each opens its own.
    connections.close_all()
    with ProcessPoolExecutor(workers - 1, _context(), initializer=_set_up) as pool:
        futures = [pool.submit(function, elsewhere) for _ in range(workers - 1)]
        own = function(here)
        try:
            return [own, *(future.result() for future in futures)]
        except BrokenProcessPool as error:
            raise BuildError(
                "a worker process died, perhaps for want of memory; try fewer workers"
            ) from error


def _context() -> multiprocessing.context.BaseContext:
    # Forked children need not import the project again; elsewhere fork is unsafe.
    return multiprocessing.get_context("fork" if sys.platform == "linux" else "spawn")


def _set_up() -> None:
    django.setup()
