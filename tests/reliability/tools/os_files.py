"""Files that go through the functions of os, where tests watch or fail them."""

from __future__ import annotations

import os


class OsFile:
    """A file that writes and closes through the functions of os."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

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
        return os.write(self._descriptor, data)
