"""Objects: one immutable file each, under a name that is never used again.

What asks the storage raises StoreError where that fails, or cannot do what is asked.
"""

from __future__ import annotations

import hashlib
import re
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from functools import lru_cache
from pathlib import Path

from django.conf import settings
from django.core.files.base import ContentFile
from django.core.files.storage import (
    FileSystemStorage,
    InvalidStorageError,
    Storage,
    storages,
)

from django_sitemaps_plus.conf import get_settings
from django_sitemaps_plus.core.gzip import Document, inflate
from django_sitemaps_plus.exceptions import (
    ConfigurationError,
    LostObjectError,
    StoreError,
)
from django_sitemaps_plus.outages import ends_work

from .filesystem import AtomicFileSystemStorage, remove_unfinished

# Secrets in an address: a password, and the query that signs it.
_SECRETS = re.compile(r"(?<=://)[^/\s@]+(?=@)|(?<=\?)[\w.~%-]+=[^\s'\"<>)]*")

# Other files may share the storage; only what has such a name is an object.
_OBJECT = re.compile(r"[0-9a-f]{16}-[0-9a-f]{16}.*\.xml.*")
_PAGE = re.compile(r"[0-9]{1,9}")

#: The namespace of a copied database begins with this.
COPY = "copy-"

# Characters of sections' names that stay out of the names of directories.
_UNSAFE = re.compile(r"[^a-z0-9_-]")


def get_storage() -> Storage:
    """Return the storage of objects; ConfigurationError if the settings name none."""
    alias = get_settings().storage
    if alias is not None:
        try:
            return storages[alias]
        except InvalidStorageError as error:
            fault = f": {error}. Correct that alias in STORAGES."
            if alias not in settings.STORAGES:
                fault = ", which STORAGES does not define. Use one of these: "
                fault += f"{', '.join(settings.STORAGES)}."
            where = f"SITEMAPS_PLUS['STORAGE'] is {alias!r}"
            raise ConfigurationError(where + fault) from error
    if not settings.MEDIA_ROOT:
        raise ConfigurationError(
            "Sitemap files have no place, so they cannot be built. Set MEDIA_ROOT, or "
            "SITEMAPS_PLUS['STORAGE'] to an alias in STORAGES."
        )
    return _default_storage(str(settings.MEDIA_ROOT))


@lru_cache(1)
def _default_storage(media_root: str) -> Storage:
    # Kept, as Django keeps those of STORAGES: a build asks for it many times.
    return AtomicFileSystemStorage(location=Path(media_root) / "sitemaps")


def directory_name(section: str, number: int, namespace: str) -> str:
    """Return the directory of the objects of a page; the index has no name.

    Directories differ in more than case, whatever storages and their addresses do.
    """
    name = _UNSAFE.sub(lambda it: f"!{it[0].encode().hex('!')}", section)
    # No section can have this name, since none has a dot in it.
    directory = f"{name or 'sitemap.xml'}/{number}"
    return f"{namespace}/{directory}" if namespace else directory


def is_within(name: str, namespace: str) -> bool:
    """Return whether an object is in a namespace; a storage may put a prefix first."""
    return namespace in ("", *name.split("/")[-4:-3])


def store_object(
    section: str, number: int, document: Document, namespace: str = ""
) -> str:
    """Store a document as a new object of a page; return its name in the storage."""
    unique = f"{document.gzip_hash[:16]}-{secrets.token_hex(8)}"
    name = f"{directory_name(section, number, namespace)}/{unique}.xml.gz"
    with _store_errors(name, "stored"):
        return get_storage().save(name, ContentFile(document.gzip))


def is_intact(name: str, gzip_hash: str) -> bool:
    """Return whether an object is what was stored."""
    with suppress(StoreError):  # a storage that is down refuses a new object too
        return bool(read_object(name, gzip_hash))
    return False


def delete_object(name: str) -> None:
    """Delete an object, if it exists."""
    with suppress(LostObjectError), _store_errors(name, "deleted"):
        get_storage().delete(name)


def read_document(name: str) -> bytes:
    """Return the document in an object; LostObjectError if it is gone or damaged."""
    try:
        return inflate(_read(name))
    except ValueError as error:
        raise LostObjectError(f"{name} is damaged: {error}") from error


def _read(name: str) -> bytes:
    with _store_errors(name, "read"), get_storage().open(name) as file:
        data: bytes = file.read()
    return data


def read_object(name: str, gzip_hash: str) -> bytes:
    """Return the gzip bytes of an object; LostObjectError if it is gone or damaged.

    A file that may not be read, or is none, is as good as damaged: a build replaces it.
    """
    try:
        data = _read(name)
    except StoreError as error:
        if isinstance(error.__cause__, PermissionError | IsADirectoryError):
            raise LostObjectError(str(error)) from error.__cause__
        raise
    if hashlib.sha256(data).hexdigest() != gzip_hash:
        raise LostObjectError(f"{name} is damaged: it is not what was stored")
    return data


def list_objects(section: str, namespace: str = "") -> dict[int, list[str]]:
    """Return the names of all objects in the directories of pages, by page number."""
    directories, _ = _list(directory_name(section, 0, namespace).rpartition("/")[0])
    objects = {}
    for number in sorted([int(name) for name in directories if _PAGE.fullmatch(name)]):
        directory = directory_name(section, number, namespace)
        files = [name for name in _list(directory)[1] if _OBJECT.fullmatch(name)]
        objects[number] = [f"{directory}/{name}" for name in files]
    return objects


def is_stored_before(name: str, moment: datetime) -> bool:
    """Return whether an object was last modified before a moment, or is gone."""
    with suppress(LostObjectError), _store_errors(name, "dated"):
        return get_storage().get_modified_time(name) < moment
    return True


def tidy_page(
    section: str, number: int, namespace: str, before: datetime, *, is_known: bool
) -> None:
    """Remove old unfinished files of a page, and its directory if it has no row."""
    storage = get_storage()
    if isinstance(storage, FileSystemStorage):
        directory = Path(storage.path(directory_name(section, number, namespace)))
        remove_unfinished(directory, before)
        if not is_known:
            with suppress(OSError):  # unless there are objects in it
                directory.rmdir()


def _list(directory: str) -> tuple[list[str], list[str]]:
    with suppress(LostObjectError), _store_errors(f"{directory}/", "listed"):
        return get_storage().listdir(directory)
    return [], []


@contextmanager
def _store_errors(name: str, verb: str) -> Iterator[None]:
    try:
        yield
    except Exception as error:  # storages raise what their service's client raises
        if ends_work(error):
            raise
        is_lost = isinstance(error, FileNotFoundError)
        message = f"{name} could not be {verb}: {words_of(error)}"
        raise (LostObjectError if is_lost else StoreError)(message) from error


def words_of(error: Exception) -> str:
    """Return the text of a storage's error, without secrets: it is logged and shown."""
    return f"{type(error).__name__}: {_SECRETS.sub('***', str(error))}"
