"""A process that kills itself at its n-th step towards the disk."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

from django.db import connection

from .os_files import standing_before
from .processes import in_child

#: Bytes that one write takes: small, so that files are torn at many places.
PIECE = 32

#: What changes names and files, or makes a change last; and what begins it.
STEPS = ("open", "fsync", "close", "replace", "unlink", "link", "utime", "mkdir")


class Killer:
    """Counts steps, and kills its process at the n-th, half done where it can be."""

    def __init__(self, at: int) -> None:
        self.at = at
        self.count = 0

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Count what changes files or rows for the time of a ``with`` block."""
        doubles = {**dict.fromkeys(STEPS, self._step_and), "write": self._torn}
        commit = mock.patch.object(connection, "_commit", self._commit)
        self._real_commit = connection._commit
        with (
            standing_before(doubles, piece=PIECE),
            connection.execute_wrapper(self._step_and),
            commit,
        ):
            yield

    def _is_hit(self) -> bool:
        self.count += 1
        return self.count == self.at

    def _step(self) -> None:
        if self._is_hit():
            _die()

    def _step_and(self, real: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        self._step()
        return real(*args, **kwargs)

    def _torn(self, real: Callable[..., int], descriptor: int, data: Any) -> int:
        if self._is_hit():
            real(descriptor, bytes(data)[: len(data) // 2])
            _die()
        return real(descriptor, data)

    def _commit(self) -> None:
        self._step()
        self._real_commit()
        self._step()


def _die() -> None:
    """End this process as the kernel would."""
    os.kill(os.getpid(), signal.SIGKILL)


def run_killed(work: Callable[[], object], at: int) -> bool:
    """Do something in a process that dies at a step."""

    def killed() -> None:
        with Killer(at).watching():
            work()

    status = in_child(killed)
    if os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL:
        return True
    assert status == 0, "the child failed by itself"
    return False
