"""Work in this process, or shared among processes of this machine."""

from __future__ import annotations

import multiprocessing
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from typing import TypeVar

import django
from django.db import connections

from django_sitemaps_plus.exceptions import BuildError

J = TypeVar("J")
R = TypeVar("R")


def run(function: Callable[[J], R], jobs: Sequence[J], workers: int = 1) -> Iterator[R]:
    """Yield the result of each job as it comes; the order is that of completion.

    Args:
        function: defined at the top of a module; jobs and results can be pickled.
        jobs: what it is called with.
        workers: processes; with 1 all is done here.

    Raises:
        BuildError: a worker process died.
        Exception: what the first failing job raises; jobs that have not begun are
            given up.
    """
    workers = min(workers, len(jobs))
    if workers <= 1:
        yield from map(function, jobs)
        return
    # A connection must not be shared with a child; each opens its own.
    connections.close_all()
    with ProcessPoolExecutor(workers, _context(), initializer=_set_up) as pool:
        futures = [pool.submit(function, job) for job in jobs]
        try:
            for future in as_completed(futures):
                yield future.result()
        except BrokenProcessPool as error:
            raise BuildError(
                "a worker process died, perhaps for want of memory; try fewer workers"
            ) from error
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _context() -> multiprocessing.context.BaseContext:
    # Forked children need not import the project again; elsewhere fork is unsafe.
    return multiprocessing.get_context("fork" if sys.platform == "linux" else "spawn")


def _set_up() -> None:
    django.setup()
