"""The checker: applies all rules to files, one after the other."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from itertools import chain
from urllib.parse import urlsplit

from django_sitemaps_plus.core.limits import MAX_ENTRIES

from .entries import entry_faults, location_faults, read_url
from .reader import MAX_ENTRY, SITEMAP, Element, Parser, read_text
from .rules import Fault, Problem

#: URLs that are compared with those of other files, some 200 bytes each, and language
#: versions that wait for the entry which they name.
MAX_REMEMBERED, MAX_ONE_WAY = 5_000_000, 100_000

# Roots, with the name of their entries and the code for too many.
_ROOTS = {"urlset": ("url", "entries-many"), "sitemapindex": ("sitemap", "index-many")}

# A text sitemap begins with one of these.
_URLS = ("http://", "https://")


@dataclass(slots=True)
class File:
    """A file that was read, or is."""

    name: str  # what problems call it
    url: str = ""  # where it is served, if that is known
    is_listed: bool = False  # by an index
    kind: str = ""  # "url", or "sitemap" for an index; empty if it is neither
    count: int = 0  # of its entries
    urls: list[str] = field(default_factory=list)  # that it lists, each once


class Checker:
    """Checks files that belong together, and gives each problem to a callback."""

    def __init__(
        self,
        report: Callable[[Problem], None],
        now: datetime,
        origins: Collection[str] = (),
    ) -> None:
        self._report, self._now = report, now
        self._origins = tuple(origins)  # of languages, each with a slash at its end
        self._file = File("")  # that is read, and its code for too many entries
        self._many = ""
        self._origin = ""  # of files without a URL: that of the first entry
        self._seen: dict[int, str] = {}  # hash of a URL -> name of the file
        self._one_way: dict[tuple[int, int], Problem] = {}

    def check(
        self, name: str, pieces: Iterable[bytes], url: str = "", *, listed: bool = False
    ) -> File:
        """Check a file by its bytes, which may raise Fault; return what it lists."""
        self._file = File(name, url, listed)
        try:
            path = urlsplit(name).path
            text = read_text(pieces, is_gzip=path.endswith(".gz"))
            first = next(filter(str.strip, text), "")
            if not first:
                raise Fault("file-empty", "the file is empty")
            begin, text = first.lstrip(), chain([first], text)
            if begin.lower().startswith(("<!doctype html", "<html")):
                raise Fault("html", "a page of HTML, not a sitemap")
            is_text = path.removesuffix(".gz").endswith(".txt")
            has_urls = any(begin[: len(it)] == it[: len(begin)] for it in _URLS)
            if has_urls or (is_text and not begin.startswith("<")):
                self._read_lines(text)
            else:
                Parser(self._begin, self._child).parse(text)
            if not self._file.count:
                raise Fault("entries-none", "the file lists nothing")
        except Fault as fault:
            self._fault(fault, fault.line)
        return self._file

    def finish(self) -> None:
        """Report entries that do not name a language version that names them."""
        for (_, other), problem in self._one_way.items():
            if other in self._seen:
                self._report(problem)

    def _fault(self, fault: Fault, line: int) -> None:
        """Report a fault, without what a terminal must not get."""
        words = str(fault)[:1_000]
        words = "".join([c if c.isprintable() else "\ufffd" for c in words])
        self._report(Problem(self._file.name, line, fault.code, words))

    def _read_lines(self, text: Iterator[str]) -> None:
        self._file.kind, self._many = _ROOTS["urlset"]
        rest, count = "", 0
        for piece in chain(text, ["\n"]):
            *lines, rest = f"{rest}{piece}".split("\n")
            if len(rest) > MAX_ENTRY:
                raise Fault("entry-size", "a line that is longer than engines read")
            for number, line in enumerate(lines, count + 1):
                if line.strip():
                    self._count()
                    self._locate(Element("loc", number, {}, line.removesuffix("\r")))
            count += len(lines)

    def _begin(self, name: str) -> None:
        namespace, _, local = name.rpartition(" ")
        if local not in _ROOTS:
            words = "a sitemap begins with <urlset> or <sitemapindex>"
            raise Fault("root", f"<{local}>: {words}")
        if namespace != SITEMAP:
            words = f"<{local}> has the namespace {namespace!r}"
            raise Fault("namespace", f'{words}: write xmlns="{SITEMAP}"')
        self._file.kind, self._many = _ROOTS[local]
        if self._file.kind == "sitemap" and self._file.is_listed:
            raise Fault("index-nested", "an index lists this index: list its sitemaps")

    def _child(self, entry: Element) -> None:
        """Take an entry, or report what is none."""
        if entry.name != self._file.kind:
            if not entry.name.startswith("{"):  # other namespaces may have a meaning
                words = f"<{entry.name}> does not belong in this file"
                self._fault(Fault("tag-unknown", words), entry.line)
            return
        self._count()
        for fault in entry_faults(entry, self._now):
            self._fault(fault, fault.line)
        loc = next(iter(entry.named("loc")), entry)
        url = self._locate(loc) if loc.text.strip() else ""

        # Versions that the entry names, but itself, are to name it as well.
        links = entry.named("xhtml:link") if url else ()
        for other in {link.attributes.get("href", "") for link in links} - {url}:
            here, there = hash(url), hash(other)
            if (there, here) in self._one_way:
                del self._one_way[there, here]
            elif len(self._one_way) < MAX_ONE_WAY:
                words = f"{url} names {other}, which does not name it: add it there"
                code = "alternate-reciprocal"
                problem = Problem(self._file.name, entry.line, code, words)
                self._one_way[here, there] = problem

    def _count(self) -> None:
        self._file.count += 1
        if self._file.count > MAX_ENTRIES:
            raise Fault(
                self._many, f"more than {MAX_ENTRIES:,} entries: split the file"
            )

    def _locate(self, loc: Element) -> str:
        """Return the URL of a location; "" where it cannot be listed, or is again."""
        file = self._file
        try:
            url = read_url(loc.text.strip())
            if not self._origin and not url.startswith(self._origins):
                self._origin = "/".join([*url.split("/")[:3], ""])
            base = next(filter(url.startswith, self._origins), file.url or self._origin)
            for fault in location_faults(loc.text, url, base):
                self._fault(fault, loc.line)
            if url == file.url:
                raise Fault("index-self", f"{url} lists itself")
            if place := self._seen.get(hash(url)):
                place = "this file" if place == file.name else place
                words = f"{url} is also in {place}: list it once"
                raise Fault("loc-duplicate", words)
        except Fault as fault:
            self._fault(fault, loc.line)
            return ""
        if len(self._seen) < MAX_REMEMBERED:
            self._seen[hash(url)] = file.name
        file.urls.append(url)
        return url
