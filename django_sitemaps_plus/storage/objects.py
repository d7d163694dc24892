"""Objects: one immutable file each, under a name that is never used again."""

from __future__ import annotations

import hashlib
import re
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import lru_cache
from pathlib import Path

from django.conf import settings
from django.core.files.base import ContentFile
from django.core.files.storage import InvalidStorageError, Storage, storages

from django_sitemaps_plus.conf import get_settings
from django_sitemaps_plus.core.gzip import Document
from django_sitemaps_plus.exceptions import (
    ConfigurationError,
    LostObjectError,
    StoreError,
)
from django_sitemaps_plus.outages import ends_work

from .filesystem import AtomicFileSystemStorage

# What an address in a text holds that may be secret: a password, or the query by which
# it is signed.
_SECRETS = re.compile(r"(?<=://)[^/\s@]+(?=@)|(?<=\?)[\w.~%-]+=[^\s'\"<>)]*")


def get_storage() -> Storage:
    """Return the storage of objects.

    Raises:
        ConfigurationError: STORAGE names none, or there is neither it nor MEDIA_ROOT.
    """
    alias = get_settings().storage
    if alias is not None:
        try:
            return storages[alias]
        except InvalidStorageError as error:
            raise ConfigurationError(
                f"SITEMAPS_PLUS['STORAGE'] is {alias!r}: {error}. Define that alias in "
                "STORAGES."
            ) from error
    if not settings.MEDIA_ROOT:
        raise ConfigurationError(
            "No place for sitemap files. Set MEDIA_ROOT, or SITEMAPS_PLUS['STORAGE'] "
            "to an alias in STORAGES."
        )
    return _default_storage(str(settings.MEDIA_ROOT))


@lru_cache(1)
def _default_storage(media_root: str) -> Storage:
    # Kept, as Django keeps those of STORAGES: a refresh asks for it many times.
    return AtomicFileSystemStorage(location=Path(media_root) / "sitemaps")


def directory_name(section: str) -> str:
    """Return the directory of a section's pages; the index has the name "".

    No section can have the name of the index's, since none has a dot in it.
    """
    return section or "sitemap.xml"


def store_object(section: str, number: int, document: Document) -> str:
    """Store a document as a new object of a page.

    Returns:
        The name that the storage gave it.

    Raises:
        StoreError: the storage did not take it.
    """
    unique = f"{document.gzip_hash[:16]}-{secrets.token_hex(8)}"
    name = f"{directory_name(section)}/{number}/{unique}.xml.gz"
    storage = get_storage()
    with _store_errors(name, "stored"):
        return storage.save(name, ContentFile(document.gzip))


@contextmanager
def _store_errors(name: str, done: str) -> Iterator[None]:
    """Raise a StoreError for whatever the client of a storage raises."""
    try:
        yield
    except StoreError:
        raise
    except Exception as error:
        if ends_work(error):
            raise
        raise StoreError(f"{name} could not be {done}: {words_of(error)}") from error


def object_exists(name: str, size: int) -> bool:
    """Return whether the storage has an object of this many bytes.

    Raises:
        StoreError: the storage cannot say.
    """
    storage = get_storage()
    # It may go between the two questions.
    with _store_errors(name, "found"), suppress(FileNotFoundError):
        return storage.exists(name) and storage.size(name) == size
    return False


def delete_object(name: str) -> None:
    """Delete an object; one that is not there is no fault.

    Raises:
        StoreError: the storage failed.
    """
    with _store_errors(name, "deleted"), suppress(FileNotFoundError):
        get_storage().delete(name)


def open_object(name: str) -> bytes:
    """Return the gzip bytes of an object, unchecked.

    Raises:
        LostObjectError: it is not there.
        StoreError: it cannot be read now.
    """
    with _store_errors(name, "read"):
        try:
            with get_storage().open(name) as file:
                return bytes(file.read())
        except FileNotFoundError as error:
            raise LostObjectError(f"{name} is gone: {words_of(error)}") from error


def read_object(name: str, gzip_hash: str) -> bytes:
    """Return the gzip bytes of an object.

    Raises:
        LostObjectError: it is not there, or is not what was stored.
        StoreError: it cannot be read now.
    """
    data = open_object(name)
    if not is_intact(data, gzip_hash):
        raise LostObjectError(f"{name} is damaged: it is not what was stored")
    return data


def is_intact(data: bytes, gzip_hash: str) -> bool:
    """Return whether the bytes of an object are what was stored."""
    return hashlib.sha256(data).hexdigest() == gzip_hash


def words_of(error: Exception) -> str:
    """Return what a storage raised, which is logged, kept and shown to staff."""
    return f"{type(error).__name__}: {_SECRETS.sub('***', str(error))}"
