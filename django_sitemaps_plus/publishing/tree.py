"""The public tree: stable file names of published pages, for web servers.

Its methods raise StoreError where the file system fails.
"""

from __future__ import annotations

import os
import re
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from django.core.files.storage import FileSystemStorage

from django_sitemaps_plus.conf import DEFAULT_SITE, get_settings
from django_sitemaps_plus.core.gzip import inflate
from django_sitemaps_plus.exceptions import StoreError
from django_sitemaps_plus.sites import sample_site
from django_sitemaps_plus.storage.filesystem import (
    TEMPORARY,
    file_mode,
    flush_directory,
    make_directory,
    replacing,
    write_file,
)
from django_sitemaps_plus.storage.objects import get_storage

#: The directory of the tree, beside those of the sections.
PUBLIC = "public"

#: The file in it that names the namespace of the only database that changes names.
OWNER = ".namespace"

SUFFIXES = (".xml.gz", ".xml")

_OURS = re.compile(r"sitemap(-.+-\d+|s-\d+)?\.xml(\.gz)?")


class File(NamedTuple):
    """A public file, as far as its directory entry shows.

    No two publications of a page fall into the same second, so a web server that makes
    its ETag of time and size never gives one ETag to two versions.
    """

    second: int  # of publication, since 1970
    size: int  # bytes
    is_readable: bool = True  # by all whom the storage lets read its files


class PublicTree:
    """Files under the names that crawlers ask for; each name changes in one step.

    ``sitemap.xml.gz``, ``sitemap-products-1.xml.gz`` and so on are hard links to
    objects. PUBLIC_PLAIN adds ``sitemap.xml`` and so on, uncompressed. A site that has
    another name than the only one has a directory of its own in the tree.
    """

    def __init__(self, storage: FileSystemStorage, site: str) -> None:
        self.storage = storage
        self.site = site
        self.root = self._top = Path(storage.path(PUBLIC))
        if site != DEFAULT_SITE:
            self.root /= site
        self.has_plain = get_settings().public_plain

    def belongs_to(self, namespace: str) -> bool:
        """Return whether names are those of a database; of the first that asks."""
        if known := self.owner():
            return known == namespace
        owner, new = self._top / OWNER, self._top / f"{TEMPORARY}{secrets.token_hex(8)}"
        with _store_errors(PUBLIC):
            make_directory(self.storage, self._top)
            try:
                write_file(new, [namespace.encode()], file_mode(self.storage))
                with suppress(FileExistsError):  # another was faster
                    os.link(new, owner)
            except OSError:  # without links
                os.replace(new, owner)
            finally:
                new.unlink(missing_ok=True)
            flush_directory(self._top)
        return self.owner() == namespace

    def owner(self) -> str:
        """Return the namespace of the database whose names these are; "" for none."""
        with _store_errors(PUBLIC), suppress(FileNotFoundError):
            return (self._top / OWNER).read_text()
        return ""

    def show(
        self,
        name: str,
        object_name: str,
        read: Callable[[], bytes],
        published_at: datetime,
    ) -> None:
        """Let a name, which has no suffix, show an object.

        Its bytes are read only where a link to it does not do. The files get the time
        of publication, as the view's answers do.
        """
        moment = int(published_at.timestamp() * 1_000_000) * 1_000
        with _store_errors(name):
            make_directory(self.storage, self.root)
            source = Path(self.storage.path(object_name))
            with replacing(self.root / f"{name}.xml.gz") as new:
                try:
                    os.utime(source, ns=(moment, moment))
                    os.chmod(source, file_mode(self.storage))
                    os.link(source, new)
                except OSError:  # without links, or an object of another user
                    new.unlink(missing_ok=True)
                    self._write(new, read(), moment)
            plain = self.root / f"{name}.xml"
            if self.has_plain:
                with replacing(plain) as new:
                    self._write(new, inflate(read()), moment)
            else:
                plain.unlink(missing_ok=True)

    def hide(self, name: str) -> None:
        """Remove the files of a name, if there are any."""
        with _store_errors(name):
            for suffix in SUFFIXES:
                with suppress(FileNotFoundError):
                    (self.root / f"{name}{suffix}").unlink()
                    flush_directory(self.root)

    def shows(self, name: str, published_at: datetime | None = None) -> bool:
        """Return whether a name shows what was published at a time, or anything."""
        last = f"{name}.xml" if self.has_plain else f"{name}.xml.gz"
        with suppress(OSError):
            modified = int((self.root / last).stat().st_mtime)
            return published_at is None or modified == int(published_at.timestamp())
        return False

    def files(self) -> dict[str, File]:
        """Return the public files by name."""
        files, readers = {}, file_mode(self.storage) & 0o444
        with _store_errors(PUBLIC), suppress(FileNotFoundError):
            for entry in os.scandir(self.root):
                if not _OURS.fullmatch(entry.name):
                    continue
                with suppress(FileNotFoundError):  # another process hides it
                    status = entry.stat(follow_symlinks=False)
                    is_readable = status.st_mode & readers == readers
                    second = int(status.st_mtime)
                    files[entry.name] = File(second, status.st_size, is_readable)
        return files

    def _write(self, target: Path, data: bytes, moment: int) -> None:
        write_file(target, [data], file_mode(self.storage), moment)


def without_suffix(file: str) -> str:
    """Return the public name that a file is of; the name of a section may have dots."""
    return file.removesuffix(".gz").removesuffix(".xml")


def public_tree() -> PublicTree | None:
    """Return the tree of the site; None where objects are not in a file system."""
    storage = get_storage()
    if not isinstance(storage, FileSystemStorage):
        return None
    return PublicTree(storage, sample_site().name)


@contextmanager
def _store_errors(name: str) -> Iterator[None]:
    try:
        yield
    except (OSError, UnicodeEncodeError) as error:
        reason = f"{type(error).__name__}: {error}"
        if isinstance(error, UnicodeEncodeError):
            reason = f"names of files are in {error.encoding}. Set PYTHONUTF8=1"
        raise StoreError(
            f"the public name {name} could not be changed: {reason}"
        ) from error
