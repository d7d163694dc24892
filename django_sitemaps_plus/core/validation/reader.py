"""Reading: bytes of a file to text, and text to elements, with a limit on each."""

from __future__ import annotations

import codecs
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import chain
from xml.parsers import expat

from django_sitemaps_plus.core.documents import NAMESPACES
from django_sitemaps_plus.core.limits import MAX_BYTES

from .rules import Fault

#: The namespace of the protocol.
SITEMAP = "http://www.sitemaps.org/schemas/sitemap/0.9"

#: The size of one entry: characters, and 100 for each element. Engines read less.
MAX_ENTRY = 2_000_000

_PREFIXES = {SITEMAP: "", **{uri: f"{name}:" for name, uri in NAMESPACES.items()}}
_MAGIC = b"\x1f\x8b"
_PIECE = 65_536

_CODES = {
    expat.errors.codes[expat.errors.XML_ERROR_MISPLACED_XML_PI]: "leading-whitespace",
    expat.errors.codes[expat.errors.XML_ERROR_UNBOUND_PREFIX]: "prefix",
    expat.errors.codes[expat.errors.XML_ERROR_UNDEFINED_ENTITY]: "entity",
}


def read_text(pieces: Iterable[bytes], *, is_gzip: bool = False) -> Iterator[str]:
    """Yield the text of a file that may be gzipped and may begin with a BOM.

    A file that is said to be gzipped must be.
    """
    filled = filter(None, pieces)
    first = next(filled, b"")
    is_packed = first.startswith(_MAGIC)
    if first and is_gzip and not is_packed:
        raise Fault("gzip-missing", "it is not compressed, as its name says it is")
    plain: Iterator[bytes] = chain([first], filled)
    if is_packed:
        plain = filter(None, _inflated(plain))

    decoder, line, size = codecs.getincrementaldecoder("utf-8-sig")(), 1, 0
    for piece in chain(plain, [b""]):
        if is_packed and not size and piece.startswith(_MAGIC):
            raise Fault("gzip-twice", "it is compressed twice: compress it once")
        size += len(piece)
        if size > MAX_BYTES:
            raise Fault("file-size", f"more than {MAX_BYTES:,} bytes uncompressed")
        try:
            text = decoder.decode(piece, final=not piece)
        except UnicodeDecodeError as error:
            line += error.object.count(b"\n", 0, error.start)
            byte = error.object[error.start]
            raise Fault("utf-8", f"byte 0x{byte:02x} is not UTF-8", line) from None
        line += text.count("\n")
        yield text


def _inflated(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Yield small pieces of what gzip data holds, so a bomb ends at the limit."""
    stream = zlib.decompressobj(zlib.MAX_WBITS | 16)
    try:
        for piece in pieces:
            while piece:
                yield stream.decompress(piece, _PIECE)
                piece = stream.unconsumed_tail
            if stream.unused_data:
                raise Fault("gzip-damaged", "something follows the gzip data")
        yield stream.flush()
    except zlib.error as error:
        raise Fault("gzip-damaged", f"damaged gzip data: {error}") from error
    if not stream.eof:
        raise Fault("gzip-truncated", "gzip data that is cut short")


@dataclass(slots=True)
class Element:
    """An element with all that is in it."""

    name: str  # with the usual prefix, as image:loc; {namespace}name of others
    line: int
    attributes: dict[str, str]
    text: str = ""
    children: list[Element] = field(default_factory=list)

    def named(self, name: str) -> list[Element]:
        """Return the children of a name."""
        return [child for child in self.children if child.name == name]


class Parser:
    """Parses XML, and gives the root's start and each of its children.

    Nothing but elements, attributes and text is read: a DTD ends it, so there are no
    entities that could grow or lead elsewhere.
    """

    def __init__(
        self, on_root: Callable[[str], None], on_child: Callable[[Element], None]
    ) -> None:
        self._on_root, self._on_child = on_root, on_child
        self._open: list[Element] = []
        self._size = 0  # of the entry that is read
        self._expat = parser = expat.ParserCreate("utf-8", " ")
        parser.buffer_text = True
        parser.StartDoctypeDeclHandler = self._refuse
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._add

    def parse(self, text: Iterable[str]) -> None:
        """Parse a whole document, or raise Fault."""
        try:
            for piece in text:
                self._expat.Parse(piece)
            self._expat.Parse("", True)
        except Fault as fault:
            fault.line = fault.line or self._expat.CurrentLineNumber
            raise
        except expat.ExpatError as error:
            words = expat.ErrorString(error.code)
            code = _CODES.get(error.code, "xml")
            raise Fault(code, f"not well-formed XML: {words}", error.lineno) from error

    def _refuse(self, *names: object) -> None:
        raise Fault("doctype", "a DTD, which no sitemap needs: remove <!DOCTYPE>")

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        if not self._open:
            self._on_root(name)
        elif len(self._open) == 1:
            self._size = 0
        self._grow(100)
        line = self._expat.CurrentLineNumber
        self._open.append(Element(_prefixed(name), line, attributes))

    def _end(self, name: str) -> None:
        element = self._open.pop()
        if len(self._open) > 1:
            self._open[-1].children.append(element)
        elif self._open:
            self._on_child(element)

    def _add(self, text: str) -> None:
        if len(self._open) > 1:
            self._grow(len(text))
            self._open[-1].text += text

    def _grow(self, size: int) -> None:
        self._size += size
        if self._size > MAX_ENTRY:
            raise Fault("entry-size", "an entry that is longer than engines read")


@lru_cache(1_000)
def _prefixed(name: str) -> str:
    namespace, _, local = name.rpartition(" ")
    return f"{_PREFIXES.get(namespace, f'{{{namespace}}}')}{local}"
