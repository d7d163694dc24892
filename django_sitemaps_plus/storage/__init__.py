"""Where objects go: immutable gzipped files in any Django storage."""

from __future__ import annotations

from .filesystem import AtomicFileSystemStorage, deferred_flush
from .objects import (
    delete_object,
    get_storage,
    is_intact,
    read_document,
    read_object,
    store_object,
)

__all__ = [
    "AtomicFileSystemStorage",
    "deferred_flush",
    "delete_object",
    "get_storage",
    "is_intact",
    "read_document",
    "read_object",
    "store_object",
]
