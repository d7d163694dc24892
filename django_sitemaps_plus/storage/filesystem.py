"""Atomic files: complete or absent, even after a crash."""

from __future__ import annotations

import errno
import os
import secrets
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from datetime import datetime
from pathlib import Path
from typing import Any

from django.core.files.base import File
from django.core.files.storage import FileSystemStorage

from django_sitemaps_plus.exceptions import StoreError

#: The beginning of the names of unfinished files, and of no others.
TEMPORARY = ".sitemaps-plus-"

# Directories to be flushed at the end of a batch; None outside of one.
_waiting: ContextVar[set[Path] | None] = ContextVar("waiting", default=None)


@contextmanager
def deferred_flush() -> Iterator[None]:
    """Flush each directory once for all files written in a ``with`` block.

    Their names survive a power cut only after the block has ended, so nothing may
    point to them before. It raises StoreError if that fails.
    """
    waiting: set[Path] = set()
    token = _waiting.set(waiting)
    try:
        yield
    finally:
        _waiting.reset(token)
        for directory in waiting:
            try:
                _sync_directory(directory)
            except OSError as error:
                raise StoreError(
                    f"{directory} could not be flushed: {error}"
                ) from error


class AtomicFileSystemStorage(FileSystemStorage):
    """A file system storage whose ``save()`` is atomic and durable.

    Django's own storage opens the final name and streams into it, so readers see half
    a file and a crash leaves one. This one writes a temporary file in the same
    directory, flushes it to disk, renames it in one step and flushes the directory:
    once ``save()`` has returned, the file survives a power cut.
    """

    def _save(self, name: str, content: File[Any]) -> str:
        target = Path(self.path(name))
        make_directory(self, target.parent)
        with replacing(target) as temporary:
            write_file(temporary, content.chunks(), file_mode(self))
        return name.replace("\\", "/")


def make_directory(storage: FileSystemStorage, directory: Path) -> None:
    """Make a directory of a storage, and those around it, unless it exists.

    Readers of its files may enter new directories of the storage; directories around
    the storage keep the mode that the umask gives.
    """
    missing = [path for path in (directory, *directory.parents) if not path.exists()]
    directory.mkdir(parents=True, exist_ok=True)
    for path in missing:
        present = stat.S_IMODE(path.stat().st_mode)
        mode = storage.directory_permissions_mode
        if mode is None and path.is_relative_to(storage.location):
            # The umask alone could shut out the web server, whatever modes files have.
            readers = file_mode(storage) & 0o444
            mode = present | readers | readers >> 2
        if mode is not None and mode != present:
            path.chmod(mode)
        flush_directory(path.parent)


@contextmanager
def replacing(target: Path) -> Iterator[Path]:
    """Give the path for a temporary file, which takes the name of the target."""
    temporary = target.parent / f"{TEMPORARY}{secrets.token_hex(8)}"
    try:
        yield temporary
        os.replace(temporary, target)
        flush_directory(target.parent)
    finally:
        # Also after a rename: a link to the file that the target names stays.
        with suppress(OSError):
            temporary.unlink()


def write_file(
    path: Path, chunks: Iterable[bytes], mode: int, moment: int | None = None
) -> None:
    """Write a new file and flush it to disk; its time may be set, in nanoseconds."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    with os.fdopen(os.open(path, flags, 0o600), "wb") as file:
        for chunk in chunks:
            file.write(chunk)
        file.flush()
        os.chmod(path, mode)
        if moment is not None:
            os.utime(path, ns=(moment, moment))
        os.fsync(file.fileno())


def file_mode(storage: FileSystemStorage) -> int:
    """Return the mode of the files of a storage; web servers may read them."""
    mode = storage.file_permissions_mode
    return 0o644 if mode is None else int(mode)


def flush_directory(path: Path) -> None:
    """Let the names in a directory survive a power cut, now or when the batch ends."""
    waiting = _waiting.get()
    if waiting is None:
        _sync_directory(path)
    else:
        waiting.add(path)


def remove_unfinished(directory: Path, before: datetime) -> None:
    """Remove temporary files that have not changed since a moment."""
    for path in directory.glob(f"{TEMPORARY}*"):
        try:
            status = path.stat()
            # A link has the time of its object; its own is the time of change.
            if max(status.st_mtime, status.st_ctime) < before.timestamp():
                path.unlink()
        except FileNotFoundError:
            continue  # removed by its writer, or by another prune
        except OSError as error:
            raise StoreError(f"{path} could not be removed: {error}") from error


def _sync_directory(path: Path) -> None:
    if os.name == "nt":
        return  # Windows cannot flush a directory
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        # The errors of fsync(2) where a file system does not flush directories.
        if error.errno != errno.EINVAL:
            raise
    finally:
        os.close(descriptor)
