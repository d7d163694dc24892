"""A process that kills itself at its n-th step towards the disk."""

from __future__ import annotations

import io
import os
import signal
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

from django.db import connection, connections

#: Bytes that one write takes: small, so that files are torn at many places.
PIECE = 32

#: What changes names and files, or makes a change last; and what begins it.
STEPS = ("open", "fsync", "close", "replace", "unlink", "link", "utime", "mkdir")

#: What a child exits with that has done all of its work.
DONE = 0


class Killer:
    """Counts steps, and kills its process at the n-th, half done where it can be."""

    def __init__(self, at: int) -> None:
        self.at = at
        self.count = 0

    def is_hit(self) -> bool:
        """Count a step; return whether it is the last one."""
        self.count += 1
        return self.count == self.at

    def step(self) -> None:
        """Count a step that is done whole or not at all."""
        if self.is_hit():
            die()

    def install(self) -> None:
        """Watch the calls of this process that change files and the database."""
        for name in STEPS:
            setattr(os, name, self._before(getattr(os, name)))
        os.write = self._torn(os.write)
        os.fdopen = self._fdopen
        Path.write_bytes = _write_bytes
        connection.execute_wrappers.append(self._statement)
        self._watch_commits()

    def _before(self, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            self.step()
            return real(*args, **kwargs)

        return call

    def _torn(self, real: Callable[..., int]) -> Callable[..., int]:
        def write(descriptor: int, data: Any) -> int:
            if self.is_hit():
                real(descriptor, bytes(data)[: len(data) // 2])
                die()
            return real(descriptor, data)

        return write

    def _fdopen(self, descriptor: int, *args: Any, **kwargs: Any) -> Any:
        # What Python's own files write goes past os.write().
        return _Pieces(descriptor)

    def _statement(self, execute: Any, *args: Any) -> Any:
        self.step()
        return execute(*args)

    def _watch_commits(self) -> None:
        real = connection._commit

        def commit() -> None:
            self.step()
            real()
            self.step()

        connection._commit = commit


class _Pieces(io.FileIO):
    """A file that writes through os.write(), a piece at a time."""

    def __init__(self, descriptor: int) -> None:
        super().__init__(descriptor, "wb")

    def write(self, data: Any, piece: int = PIECE) -> int:
        """Write all of it."""
        for start in range(0, len(data), piece):
            os.write(self.fileno(), data[start : start + piece])
        return len(data)


def _write_bytes(path: Path, data: bytes) -> int:
    with _Pieces(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)) as file:
        return file.write(data, piece=len(data) or 1)


def die() -> None:
    """End this process as the kernel would."""
    os.kill(os.getpid(), signal.SIGKILL)


def fork() -> int:
    """Fork, with no connection that the child would share."""
    connections.close_all()
    with warnings.catch_warnings():
        # Python warns of other threads; here they only wait for the test runner.
        warnings.simplefilter("ignore", DeprecationWarning)
        return os.fork()


def in_child(work: Callable[[], object]) -> int:
    """Do something in a forked process; return its status as os.wait() does."""
    pid = fork()
    if not pid:
        status = 1
        try:
            work()
            status = DONE
        finally:
            os._exit(status)
    return os.waitpid(pid, 0)[1]


def run_killed(work: Callable[[], object], at: int) -> bool:
    """Do something in a process that dies at a step.

    Returns:
        Whether it died; False where it had fewer steps and succeeded.
    """

    def killed() -> None:
        Killer(at).install()
        work()

    status = in_child(killed)
    if os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL:
        return True
    assert os.WEXITSTATUS(status) == DONE, "the child failed by itself"
    return False
