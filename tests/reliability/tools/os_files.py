"""What stands between a process and its files: it watches them, or fails them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any
from unittest import mock


class OsFile:
    """A file that writes and closes through the functions of os."""

    def __init__(self, descriptor: int, *, piece: int = 0) -> None:
        self._descriptor = descriptor
        self._piece = piece

    def __enter__(self) -> OsFile:
        return self

    def __exit__(self, *exc: object) -> None:
        os.close(self._descriptor)

    def fileno(self) -> int:
        """Return its number."""
        return self._descriptor

    def flush(self) -> None:
        """Nothing is kept back."""

    def write(self, data: bytes) -> int:
        """Write all of it."""
        piece = self._piece or len(data) or 1
        for start in range(0, len(data), piece):
            os.write(self._descriptor, data[start : start + piece])
        return len(data)


@contextmanager
def standing_before(
    doubles: Mapping[str, Callable[..., Any]], *, piece: int = 0
) -> Iterator[None]:
    """Call others in the place of functions of os, for the time of a ``with`` block.

    Args:
        doubles: by the name of a function; each gets the real one first.
        piece: bytes that Python's own files write at a time; 0 for all.
    """

    def fdopen(descriptor: int, *args: Any, **kwargs: Any) -> OsFile:
        return OsFile(descriptor, piece=piece)

    def write_bytes(path: Path, data: bytes) -> int:
        with OsFile(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)) as file:
            return file.write(data)

    with ExitStack() as stack:
        for name, double in doubles.items():
            call = partial(double, getattr(os, name))
            stack.enter_context(mock.patch.object(os, name, call))
        # What Python's own files write goes past os.write().
        stack.enter_context(mock.patch.object(os, "fdopen", fdopen))
        stack.enter_context(mock.patch.object(Path, "write_bytes", write_bytes))
        yield
