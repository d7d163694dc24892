"""Files that are there whole or not at all, whatever is killed or unplugged."""

from __future__ import annotations

import errno
import os
import stat
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path
from typing import Any

from django.core.files.base import File
from django.core.files.storage import FileSystemStorage

from django_sitemaps_plus.exceptions import StoreError

#: What the names of unfinished files begin with; nobody else's do.
TEMPORARY = ".sitemaps-plus-"

# Windows replaces no file that somebody reads: seconds to wait for them.
_REPLACE_WAITS = (0.01, 0.05, 0.25, 1.0)

# Directories to be flushed when a batch ends; None outside of one.
_waiting: ContextVar[set[Path] | None] = ContextVar("waiting", default=None)


@contextmanager
def deferred_flush() -> Iterator[None]:
    """Flush each directory once for all files saved in a ``with`` block.

    Only when the block has ended without an error do the names of its files survive
    a power cut; nothing may point to them before.

    Raises:
        StoreError: a directory could not be flushed.
    """
    token = _waiting.set(set())
    try:
        yield
        for directory in _waiting.get() or ():
            try:
                _sync_directory(directory)
            except OSError as error:
                raise StoreError(
                    f"{directory} could not be flushed: {error}"
                ) from error
    finally:
        _waiting.reset(token)


class AtomicFileSystemStorage(FileSystemStorage):
    """A file system storage whose ``save()`` is atomic and durable.

    Django's own opens the final name and streams into it, so readers see half a file
    and a crash leaves one. Here the bytes go to a temporary file beside it, are
    flushed to disk, and take their name in one step; the directory is flushed too, so
    the name survives a power cut once ``save()`` has returned.
    """

    def _save(self, name: str, content: File[Any]) -> str:
        target = Path(self.path(name))
        self._make_directory(target.parent)
        descriptor, temporary = tempfile.mkstemp(prefix=TEMPORARY, dir=target.parent)
        try:
            with os.fdopen(descriptor, "wb") as file:
                for chunk in content.chunks():
                    file.write(chunk)
                file.flush()
                _set_mode(file.fileno(), temporary, file_mode(self))
                os.fsync(file.fileno())
            replace(temporary, target)
        except BaseException:
            with suppress(OSError):
                os.unlink(temporary)
            raise
        flush_directory(target.parent)
        return name.replace("\\", "/")

    def _make_directory(self, directory: Path) -> None:
        missing = [
            path for path in (directory, *directory.parents) if not path.exists()
        ]
        directory.mkdir(parents=True, exist_ok=True)
        for path in missing:
            admit_readers(self, path)
            flush_directory(path.parent)


def file_mode(storage: FileSystemStorage) -> int:
    """Return the mode of the files of a storage."""
    # Files are made so that only their owner may read them; a web server is another.
    mode = storage.file_permissions_mode
    return 0o644 if mode is None else int(mode)


def admit_readers(storage: FileSystemStorage, directory: Path) -> None:
    """Let those into a new directory of a storage who may read its files.

    What is made around the storage is left to the umask: other files may come there.
    """
    found = stat.S_IMODE(directory.stat().st_mode)
    readers = file_mode(storage) & 0o444
    mode = storage.directory_permissions_mode
    if mode is None and directory.is_relative_to(storage.location):
        # The umask alone could shut out the web server, whatever modes files have.
        mode = found | readers | readers >> 2
    if mode is not None and mode != found:
        directory.chmod(mode)


def flush_directory(path: Path) -> None:
    """Let the names in a directory survive a power cut, now or when the batch ends."""
    waiting = _waiting.get()
    if waiting is None:
        _sync_directory(path)
    else:
        waiting.add(path)


def replace(source: str | Path, target: Path) -> None:
    """Give a file the name of another, which is gone from then on."""
    for wait in _REPLACE_WAITS if os.name == "nt" else ():
        try:
            os.replace(source, target)
        except PermissionError:
            time.sleep(wait)
        else:
            return
    os.replace(source, target)


def _set_mode(descriptor: int, path: str, mode: int) -> None:
    if hasattr(os, "fchmod"):
        os.fchmod(descriptor, mode)
    else:  # Windows, before Python 3.13
        os.chmod(path, mode)


def _sync_directory(path: Path) -> None:
    if os.name == "nt":
        return  # Windows cannot flush a directory
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        # What fsync(2) says where a file system flushes no directories.
        if error.errno != errno.EINVAL:
            raise
    finally:
        os.close(descriptor)
