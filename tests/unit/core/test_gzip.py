"""Gzip that is always the same, and reading it back with care."""

from __future__ import annotations

import gzip
import hashlib
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from django_sitemaps_plus.core import gzip as compression
from django_sitemaps_plus.core.gzip import inflate, write_document
from django_sitemaps_plus.core.limits import MAX_BYTES, LimitExceededError

TEXT = b"<url><loc>https://example.com/page/</loc></url>\n" * 1_000


@pytest.fixture(params=["isal", "zlib"])
def engine(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Use one library, then the other."""
    if request.param == "isal":
        pytest.importorskip("isal", reason="the extra 'fast' is not installed")
    else:
        monkeypatch.setattr(compression, "isal_zlib", None)
    return str(request.param)


class TestDocument:
    def test_isal_compresses_where_it_is_installed(self, engine):
        used = type(compression._compressor()).__module__
        assert used.startswith("isal" if engine == "isal" else "zlib")

    def test_it_is_read_by_any_reader_and_always_the_same(self, engine):
        """RFC 1952: flags 0 and mtime 0, so nothing but the input has a say."""
        document = write_document([TEXT, TEXT])
        assert gzip.decompress(document.gzip) == TEXT + TEXT
        assert document.gzip[:8] == b"\x1f\x8b\x08" + bytes(5)
        assert document == write_document([TEXT, TEXT])
        assert "gzip=" not in repr(document)  # a log line stays short

    def test_hashes_and_size_are_those_of_the_bytes(self, engine):
        document = write_document([TEXT[:10], b"", TEXT[10:]])
        assert document.plain_size == len(TEXT)
        assert document.plain_hash == hashlib.sha256(TEXT).hexdigest()
        assert document.gzip_hash == hashlib.sha256(document.gzip).hexdigest()

    @given(st.lists(st.binary(max_size=200), max_size=8))
    def test_how_input_is_cut_does_not_matter_to_the_plain_bytes(self, pieces):
        whole = write_document([b"".join(pieces)])
        parts = write_document(pieces)
        assert parts.plain_hash == whole.plain_hash
        assert inflate(parts.gzip) == b"".join(pieces)

    def test_the_limit_is_the_largest_size_before_compression(self, engine):
        mebibyte = bytes(1024 * 1024)
        assert write_document([mebibyte] * 50).plain_size == MAX_BYTES
        with pytest.raises(LimitExceededError, match="52,428,800 bytes"):
            write_document([*[mebibyte] * 50, b"x"])


class TestInflate:
    def test_a_bomb_is_never_unpacked_whole(self, engine, monkeypatch):
        unpacked = []

        class Spy:
            def __init__(self, window):
                self.stream = real(window)

            def decompress(self, data, max_length):
                plain = self.stream.decompress(data, max_length)
                unpacked.append(len(plain))
                return plain

        library = compression.isal_zlib or zlib
        real = library.decompressobj
        monkeypatch.setattr(library, "decompressobj", Spy)
        with pytest.raises(ValueError, match="more than 1,000 bytes"):
            inflate(gzip.compress(bytes(10_000_000)), max_bytes=1_000)
        assert sum(unpacked) == 1_001

    @pytest.mark.parametrize("length", [0, 9, 15, -8, -1])
    def test_a_file_that_is_cut_short_is_refused(self, engine, length):
        with pytest.raises(ValueError, match="cut short"):
            inflate(gzip.compress(TEXT)[:length])

    @pytest.mark.parametrize("more", [b"junk", gzip.compress(b"again", mtime=0)])
    def test_a_file_followed_by_more_is_refused(self, more):
        """We write one member; anything after it is damage."""
        with pytest.raises(ValueError, match="followed by more"):
            inflate(gzip.compress(TEXT) + more)

    def test_damage_is_refused(self):
        wrong_checksum = bytearray(gzip.compress(TEXT))
        wrong_checksum[-8] ^= 1
        for data in (wrong_checksum, b"plain text", zlib.compress(TEXT)):
            with pytest.raises(ValueError, match="damaged"):
                inflate(bytes(data))
