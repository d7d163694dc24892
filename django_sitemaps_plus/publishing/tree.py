"""The public tree: stable names of what is published, for web servers to serve."""

from __future__ import annotations

import os
import re
import secrets
import shutil
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from django.core.files.storage import FileSystemStorage

from django_sitemaps_plus.conf import get_settings
from django_sitemaps_plus.core.gzip import inflate
from django_sitemaps_plus.exceptions import LostObjectError, StoreError
from django_sitemaps_plus.storage.filesystem import (
    TEMPORARY,
    AtomicFileSystemStorage,
    admit_readers,
    file_mode,
    flush_directory,
    replace,
)
from django_sitemaps_plus.storage.objects import get_storage

#: The directory of the tree, beside those of the sections.
PUBLIC = "public"

_SUFFIXES = (".xml.gz", ".xml")

#: Bits of a mode that let owner, group and others read.
_READERS = stat.S_IRUSR | stat.S_IRGRP | stat.S_IROTH

#: Trees with names that a power cut may undo.
_unflushed: set[Path] = set()

_OURS = re.compile(r"sitemap(-[a-z0-9_-]+-\d+|s-\d+)?\.xml(\.gz)?")


@dataclass(frozen=True, slots=True)
class Shown:
    """What a public name shows, as far as its file tells without being read.

    Attributes:
        second: of publication, as seconds since 1970; no two publications of a page
            fall into the same, so that servers which make an ETag of time and size
            never give one to two versions.
        size: bytes.
        is_readable: whether all may read it whom the storage lets read its files.
    """

    second: int
    size: int
    is_readable: bool = True


class PublicTree:
    """Files under the names that crawlers ask for.

    ``sitemap.xml.gz``, ``sitemap-products-1.xml.gz`` and so on are hard links to
    objects. With PUBLIC_PLAIN there is ``sitemap.xml`` and so on too, uncompressed.
    Each name changes in one step.
    """

    def __init__(self, storage: FileSystemStorage) -> None:
        self.storage = storage
        self.root = Path(storage.path(PUBLIC))
        self.has_plain = get_settings().public_plain

    def show(self, name: str, object_name: str, published_at: datetime) -> None:
        """Let a name show an object.

        Args:
            name: without a suffix: ``sitemap-products-1``.
            object_name: what the storage calls the object.
            published_at: becomes the time of the files, as in the view's answers.

        Raises:
            FileNotFoundError: there is no such object.
            LostObjectError: the object is damaged.
            StoreError: the file system failed.
        """
        source = Path(self.storage.path(object_name))
        moment = int(published_at.timestamp() * 1_000_000) * 1_000
        with _store_errors(name):
            self._make_root()
            with self._new_name(f"{name}.xml.gz") as new:
                _link(source, new, moment)
            if self.has_plain:
                with self._new_name(f"{name}.xml") as new:
                    data = inflate(source.read_bytes())
                    _write(new, data, file_mode(self.storage), moment)
            else:
                (self.root / f"{name}.xml").unlink(missing_ok=True)

    def _make_root(self) -> None:
        # The objects have made the directory around it.
        if not self.root.exists():
            self.root.mkdir(exist_ok=True)
            admit_readers(self.storage, self.root)
            flush_directory(self.root.parent)

    def flush(self) -> None:
        """Let the names that were changed survive a power cut.

        Those of new pages do at once. It would leave the others as they were, so that
        they can wait for the index.

        Raises:
            StoreError: the file system failed.
        """
        if self.root in _unflushed:
            with _store_errors(PUBLIC):
                flush_directory(self.root)
            _unflushed.discard(self.root)

    def hide(self, name: str) -> None:
        """Take a name out of the tree; one that is not there is no fault.

        Raises:
            StoreError: the file system failed.
        """
        with _store_errors(name):
            for suffix in _SUFFIXES:
                with suppress(FileNotFoundError):
                    path = self.root / f"{name}{suffix}"
                    _remove_directory(path)
                    path.unlink()
                    flush_directory(self.root)

    def is_of(self, name: str, published_at: datetime | None = None) -> bool:
        """Return whether a name shows what was published at a time; None for any."""
        last = f"{name}.xml" if self.has_plain else f"{name}.xml.gz"
        with suppress(OSError):
            modified = (self.root / last).stat().st_mtime
            return published_at is None or int(modified) == int(
                published_at.timestamp()
            )
        return False

    def size_of(self, object_name: str) -> int:
        """Return how many bytes an object has, and let those read it again who may.

        Its names share its mode, so whoever took it from one took it from all.

        Raises:
            FileNotFoundError: there is no such object.
            StoreError: the file system failed.
        """
        path = Path(self.storage.path(object_name))
        with _store_errors(object_name):
            status = path.stat()
            if self._lacks_readers(status) and not path.is_symlink():
                path.chmod(stat.S_IMODE(status.st_mode) | file_mode(self.storage))
            return status.st_size

    def _lacks_readers(self, status: os.stat_result) -> bool:
        """Return whether some may not read a file whom the storage lets read it.

        As far as that can be mended: another user's file keeps its mode.
        """
        if not hasattr(os, "geteuid"):
            return False  # Windows, whose files have neither owner nor such modes
        if os.geteuid() not in (0, status.st_uid):
            return False
        is_ours = isinstance(self.storage, AtomicFileSystemStorage)
        if not is_ours and self.storage.file_permissions_mode is None:
            return False  # Django's own leaves modes to the umask
        return bool(file_mode(self.storage) & ~status.st_mode & _READERS)

    def _keeps_modes(self) -> bool:
        """Return whether a file takes the mode it is given, as not on every share."""
        probe = self.root / f"{TEMPORARY}{secrets.token_hex(8)}"
        try:
            probe.touch(mode=0o600)
            probe.chmod(file_mode(self.storage))
            return not self._lacks_readers(probe.stat())
        except OSError:
            return False
        finally:
            probe.unlink(missing_ok=True)

    def shown(self, names: Iterable[str] | None = None) -> dict[str, Shown]:
        """Return what there is, by file name.

        Args:
            names: without suffixes; None for all.

        Raises:
            StoreError: the file system failed.
        """
        if names is None:
            files = self._listed()
        else:
            files = [f"{name}{suffix}" for name in names for suffix in _SUFFIXES]
        found = {}
        with _store_errors(PUBLIC):
            for name in files:
                with suppress(FileNotFoundError):
                    found[name] = (self.root / name).stat()
        lacking = {name for name in found if self._lacks_readers(found[name])}
        if lacking and not self._keeps_modes():
            lacking.clear()
        return {
            name: Shown(int(status.st_mtime), status.st_size, name not in lacking)
            for name, status in found.items()
        }

    def _listed(self) -> list[str]:
        return [name for name in self._names() if _OURS.fullmatch(name)]

    def _names(self) -> list[str]:
        with _store_errors(PUBLIC), suppress(FileNotFoundError):
            return os.listdir(self.root)
        return []

    @contextmanager
    def _new_name(self, name: str) -> Iterator[Path]:
        """Give a name that nobody reads, and let its file take the place of another."""
        temporary = self.root / f"{TEMPORARY}{secrets.token_hex(8)}"
        target = self.root / name
        is_known = target.exists()
        _remove_directory(target)
        try:
            yield temporary
            replace(temporary, target)
            _unflushed.add(self.root)
            if not is_known:
                # Perhaps by a batch that fails before its end, so it stays noted.
                flush_directory(self.root)
        finally:
            # Replacing a link by another link to the same file leaves both.
            temporary.unlink(missing_ok=True)


def public_tree() -> PublicTree | None:
    """Return the tree; None where objects are not in a file system."""
    storage = get_storage()
    return PublicTree(storage) if isinstance(storage, FileSystemStorage) else None


def _remove_directory(path: Path) -> None:
    """Remove what a container makes of a name when it finds no file."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)


def _link(source: Path, target: Path, moment: int) -> None:
    """Give an object another name, and the time of its publication."""
    try:
        os.utime(source, ns=(moment, moment))
        os.link(source, target)
    except FileNotFoundError:
        raise
    except OSError:  # a file system without links, or an object of another user
        shutil.copy2(source, target)
        os.utime(target, ns=(moment, moment))
        _flush_file(target)


def _write(target: Path, data: bytes, mode: int, moment: int) -> None:
    target.write_bytes(data)
    target.chmod(mode)
    os.utime(target, ns=(moment, moment))
    _flush_file(target)


def _flush_file(path: Path) -> None:
    descriptor = os.open(path, os.O_RDWR)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def _store_errors(name: str) -> Iterator[None]:
    try:
        yield
    except FileNotFoundError:
        raise
    except ValueError as error:
        raise LostObjectError(f"{name} shows what is damaged: {error}") from error
    except OSError as error:
        raise StoreError(
            f"the public name {name} could not be changed: "
            f"{type(error).__name__}: {error}"
        ) from error
