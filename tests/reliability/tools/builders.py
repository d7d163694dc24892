"""Builders in processes of their own, which stop themselves at a checkpoint."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial, wraps
from typing import Any
from unittest import mock

from django_sitemaps_plus.building import worker
from django_sitemaps_plus.building.build import build
from django_sitemaps_plus.building.plan import merge, split

from .checkpoints import checkpoint
from .processes import end, fork
from .shop import ALLOW

#: Seconds after which a builder that hangs is ended.
_HANG = 60


class Builder:
    """A process that builds, and stops itself at a checkpoint.

    Attributes:
        is_stopped: False where it has ended without a checkpoint on its way.
    """

    def __init__(self, name: str) -> None:
        reader, writer = os.pipe()

        def work() -> None:
            stop = partial(os.kill, os.getpid(), signal.SIGSTOP)
            with _told(writer), checkpoint(name, stop):
                build(**ALLOW)

        self.pid = fork(work, _HANG)
        os.close(writer)
        self.results = os.fdopen(reader)
        status = os.waitpid(self.pid, os.WUNTRACED)[1]
        self.is_stopped = os.WIFSTOPPED(status)
        if not self.is_stopped:
            self.pid = 0
            assert status == 0, f"the builder failed with status {status}"

    def wake(self) -> None:
        """Let it go on."""
        os.kill(self.pid, signal.SIGCONT)

    def next_refused(self) -> int:
        """Wait for its next flip; return how many pages of it were refused."""
        return int(self.results.readline() or 0)

    def finish(self) -> int:
        """Wait until it has ended; return how many of its flips were refused."""
        refused = sum(map(int, self.results.read().split()))
        status = os.waitpid(self.pid, 0)[1]
        self.pid = 0
        assert status == 0, f"the builder failed with status {status}"
        return refused

    def end(self) -> None:
        """End it, whatever it does."""
        self.results.close()
        if self.pid:
            end(self.pid)
            self.pid = 0


@contextmanager
def stopped_at(name: str) -> Iterator[Builder]:
    """Give a builder that has stopped; leave none behind."""
    builder = Builder(name)
    try:
        assert builder.is_stopped, f"no build gets to {name!r}"
        yield builder
    finally:
        builder.end()


@contextmanager
def _told(writer: int) -> Iterator[None]:
    """Tell of each flip how much was refused; of splits and merges too."""

    def watch(real: Callable[..., Any], missing: Callable[..., int]) -> Any:
        @wraps(real)
        def call(*args: Any) -> Any:
            result = real(*args)
            os.write(writer, b"%d\n" % missing(result, *args))
            return result

        return call

    flips = watch(worker.flip, lambda done, results: len(results) - len(done))
    splits = watch(split._split_at, lambda pieces, *_: int(not pieces))
    merges = watch(merge._merge_claimed, lambda done, *_: int(not done))
    with ExitStack() as stack:
        stack.enter_context(mock.patch.object(worker, "flip", flips))
        stack.enter_context(mock.patch.object(split, "_split_at", splits))
        stack.enter_context(mock.patch.object(merge, "_merge_claimed", merges))
        yield
