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
    def test_isal_compresses_where_it_is_installed(self, engine, monkeypatch):
        """It is several times faster; without the extra, zlib does it."""
        used = []
        for name, library in (("isal", compression.isal_zlib), ("zlib", zlib)):
            if library is not None:
                make = library.compressobj
                monkeypatch.setattr(
                    library,
                    "compressobj",
                    lambda *args, make=make, name=name: (
                        used.append(name) or make(*args)
                    ),
                )
        write_document([TEXT])
        assert used == [engine]

    def test_any_gzip_reader_reads_it(self, engine):
        """The standard library's reader gets the plain bytes."""
        assert gzip.decompress(write_document([TEXT]).gzip) == TEXT

    def test_its_header_has_no_name_and_no_time(self, engine):
        """RFC 1952: flags 0 and mtime 0, so equal input gives equal bytes."""
        data = write_document([TEXT]).gzip
        assert data[:3] == b"\x1f\x8b\x08"
        assert data[3:8] == bytes(5)

    def test_the_same_pieces_give_the_same_bytes(self, engine):
        """Nothing but the input has a say."""
        assert write_document([TEXT, TEXT]) == write_document([TEXT, TEXT])

    def test_hashes_and_size_are_those_of_the_bytes(self, engine):
        """ETags and comparisons rest on them."""
        document = write_document([TEXT[:10], b"", TEXT[10:]])
        assert document.plain_size == len(TEXT)
        assert document.plain_hash == hashlib.sha256(TEXT).hexdigest()
        assert document.gzip_hash == hashlib.sha256(document.gzip).hexdigest()

    def test_its_bytes_are_not_in_its_repr(self):
        """A log line stays short."""
        assert "gzip=" not in repr(write_document([TEXT]))

    @given(st.lists(st.binary(max_size=200), max_size=8))
    def test_how_input_is_cut_does_not_matter_to_the_plain_bytes(self, pieces):
        """Pieces are joined as they came."""
        whole = write_document([b"".join(pieces)])
        parts = write_document(pieces)
        assert parts.plain_hash == whole.plain_hash
        assert inflate(parts.gzip) == b"".join(pieces)


class TestLimit:
    def test_a_file_may_be_exactly_as_large_as_allowed(self, engine):
        """The limit is the largest size, not the first forbidden one."""
        assert write_document([b"12345", b"67890"], max_bytes=10).plain_size == 10

    def test_one_byte_more_is_refused(self, engine):
        """Counted before compression, over all pieces."""
        with pytest.raises(LimitExceededError, match="10 bytes"):
            write_document([b"1234567890", b"1"], max_bytes=10)

    def test_the_protocols_limit_is_the_usual_one(self):
        """52,428,800 bytes pass, one more does not."""
        mebibyte = bytes(1024 * 1024)
        assert write_document([mebibyte] * 50).plain_size == MAX_BYTES
        with pytest.raises(LimitExceededError, match="52,428,800 bytes"):
            write_document([*[mebibyte] * 50, b"x"])


class TestInflate:
    def test_more_than_allowed_is_refused(self):
        """One byte more is too much."""
        with pytest.raises(ValueError, match="more than 100 bytes"):
            inflate(gzip.compress(b"x" * 101), max_bytes=100)

    def test_a_bomb_is_never_unpacked_whole(self, engine, monkeypatch):
        """A small file that holds a gigabyte costs no more than the limit."""
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
        """Wherever the end is missing, its checksum included."""
        with pytest.raises(ValueError, match="cut short"):
            inflate(gzip.compress(TEXT)[:length])

    @pytest.mark.parametrize(
        "more", [b"\x00", b"junk", gzip.compress(b"again", mtime=0)]
    )
    def test_a_file_followed_by_more_is_refused(self, more):
        """We write one member; anything after it is damage."""
        with pytest.raises(ValueError, match="followed by more"):
            inflate(gzip.compress(TEXT) + more)

    def test_a_wrong_checksum_is_refused(self):
        """The bytes are not what was written."""
        data = bytearray(gzip.compress(TEXT))
        data[-8] ^= 1
        with pytest.raises(ValueError, match="damaged"):
            inflate(bytes(data))

    @pytest.mark.parametrize("data", [b"plain text", zlib.compress(TEXT)])
    def test_what_is_no_gzip_is_refused(self, data):
        """A zlib stream is none either."""
        with pytest.raises(ValueError, match="damaged"):
            inflate(data)
