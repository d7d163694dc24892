"""One document on its way to storage: counted, hashed and gzipped as it is written."""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from .limits import MAX_BYTES, LimitExceededError

isal_zlib: Any
try:
    from isal import isal_zlib
except ImportError:  # the extra `fast` is not installed
    isal_zlib = None

# zlib adds a gzip header of its own to a window of 15 bits + 16: no name, mtime 0, so
# equal input gives equal bytes.
_GZIP_WINDOW = 31
_SIZE_BYTES = 4  # at the end, for the size before compression (RFC 1952)
_ZLIB_LEVEL = 6
_ISAL_LEVEL = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """A finished file, gzipped, with what HTTP and storage ask about it."""

    gzip: bytes = field(repr=False)
    gzip_hash: str  # SHA-256 of the gzip bytes, in hexadecimal
    plain_hash: str  # SHA-256 of the bytes before compression
    plain_size: int  # bytes before compression


class DocumentWriter:
    """Takes a document piece by piece; memory holds its compressed form alone."""

    def __init__(self, max_bytes: int = MAX_BYTES) -> None:
        self.max_bytes = max_bytes
        self._size = 0
        self._hash = hashlib.sha256()
        self._gzip = _compressor()
        self._pieces: list[bytes] = []

    def write(self, data: bytes) -> None:
        """Add bytes.

        Raises:
            LimitExceededError: the document grows past ``max_bytes`` uncompressed.
        """
        self._size += len(data)
        if self._size > self.max_bytes:
            raise LimitExceededError(self.max_bytes, "bytes")
        self._hash.update(data)
        self._pieces.append(self._gzip.compress(data))

    def finish(self) -> Document:
        """Return the whole; the writer is of no use afterwards."""
        self._pieces.append(self._gzip.flush())
        data = b"".join(self._pieces)
        return Document(
            gzip=data,
            gzip_hash=hashlib.sha256(data).hexdigest(),
            plain_hash=self._hash.hexdigest(),
            plain_size=self._size,
        )


def _compressor() -> Any:  # zlib keeps the type private
    if isal_zlib is not None:
        return isal_zlib.compressobj(_ISAL_LEVEL, zlib.DEFLATED, _GZIP_WINDOW)
    return zlib.compressobj(_ZLIB_LEVEL, zlib.DEFLATED, _GZIP_WINDOW)


def write_document(pieces: Iterable[bytes]) -> Document:
    """Return the document of all pieces.

    Raises:
        LimitExceededError: it is larger than a sitemap may be.
    """
    writer = DocumentWriter()
    for piece in pieces:
        writer.write(piece)
    return writer.finish()


def inflate(data: bytes, max_bytes: int = MAX_BYTES) -> bytes:
    """Return what gzip bytes hold, never more than ``max_bytes``.

    Raises:
        ValueError: damaged, cut short, or larger than allowed.
    """
    library = isal_zlib or zlib
    stream = library.decompressobj(_GZIP_WINDOW)
    # Told how much to expect, isal makes room once: twice as fast. A false trailer
    # ends as data that is damaged or cut short.
    expected = int.from_bytes(data[-_SIZE_BYTES:], "little")
    try:
        plain: bytes = stream.decompress(data, min(expected, max_bytes) + 1)
    except library.error as error:
        raise ValueError(f"damaged gzip data: {error}") from error
    if len(plain) > max_bytes:
        raise ValueError(f"gzip data that holds more than {max_bytes:,} bytes")
    if not stream.eof or stream.unused_data:
        raise ValueError("gzip data that is cut short or followed by more")
    return plain
