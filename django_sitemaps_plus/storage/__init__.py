"""Where objects go: immutable gzipped files in any Django storage."""

from __future__ import annotations

from .filesystem import AtomicFileSystemStorage
from .objects import get_storage, object_exists, read_object, store_object

__all__ = [
    "AtomicFileSystemStorage",
    "get_storage",
    "object_exists",
    "read_object",
    "store_object",
]
