"""Gzipped documents: written with their size and hashes, and read back with a limit."""

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

# A window of 15 bits + 16: zlib writes a gzip header without name and time, so equal
# input gives equal bytes.
_GZIP_WINDOW = 31
_SIZE_BYTES = 4  # at the end, for the size before compression (RFC 1952)
_ZLIB_LEVEL = 6
_ISAL_LEVEL = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """A gzipped file, with what HTTP and storage need to know about it."""

    gzip: bytes = field(repr=False)
    gzip_hash: str  # SHA-256 of the gzip bytes, in hexadecimal
    plain_hash: str  # SHA-256 of the bytes before compression
    plain_size: int  # bytes before compression

    @property
    def gzip_size(self) -> int:
        """Bytes after compression."""
        return len(self.gzip)


def write_document(pieces: Iterable[bytes], max_bytes: int = MAX_BYTES) -> Document:
    """Return the document of all pieces; memory holds its compressed form alone.

    Raises:
        LimitExceededError: it is larger than ``max_bytes`` uncompressed.
    """
    size, plain_hash, compressor = 0, hashlib.sha256(), _compressor()
    compressed: list[bytes] = []
    for piece in pieces:
        size += len(piece)
        if size > max_bytes:
            raise LimitExceededError(f"more than {max_bytes:,} bytes in one file")
        plain_hash.update(piece)
        compressed.append(compressor.compress(piece))
    data = b"".join([*compressed, compressor.flush()])
    return Document(
        gzip=data,
        gzip_hash=hashlib.sha256(data).hexdigest(),
        plain_hash=plain_hash.hexdigest(),
        plain_size=size,
    )


def _compressor() -> Any:  # zlib keeps the type private
    if isal_zlib is not None:
        return isal_zlib.compressobj(_ISAL_LEVEL, zlib.DEFLATED, _GZIP_WINDOW)
    return zlib.compressobj(_ZLIB_LEVEL, zlib.DEFLATED, _GZIP_WINDOW)


def inflate(data: bytes, max_bytes: int = MAX_BYTES) -> bytes:
    """Return what gzip bytes hold, never more than ``max_bytes``.

    Raises:
        ValueError: they are damaged, cut short, or hold more.
    """
    library = isal_zlib or zlib
    stream = library.decompressobj(_GZIP_WINDOW)
    # With the expected size isal allocates once and is twice as fast. A wrong size in
    # the trailer is found as damaged data.
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
