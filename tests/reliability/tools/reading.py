"""Readers that look at every byte of what is published, over and over."""

from __future__ import annotations

import gzip
import hashlib
import http.client
import zlib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

from django.db import connections

from django_sitemaps_plus.exceptions import StoreError
from django_sitemaps_plus.models import INDEX, Page
from django_sitemaps_plus.storage import get_storage, read_object

from .published import urls_in
from .shop import ORIGIN

#: Given the name of a document, such as ``sitemap.xml``; returns it, gzipped or not.
Fetch = Callable[[str], bytes]

#: Reads after which a reader gives up waiting for pages to change.
MOST = 200_000


class MissingError(Exception):
    """There was nothing under a name."""


@dataclass
class Readings:
    """What readers have met."""

    expected: dict[str, set[str]]
    reads: int = 0
    bad: int = 0
    missing: int = 0
    changes: int = 0  # of pages, from one version to the other
    _known: dict[bytes, str] = field(default_factory=dict)

    def read(self, fetch: Fetch, least: int, changes: int) -> None:
        """Read all documents in turn, until there were enough reads and changes."""
        last: dict[str, str] = {}
        names = ["sitemap.xml", *self.expected]
        reads = seen = 0
        for turn in count():
            if (reads >= least and seen >= changes) or reads >= MOST:
                break
            name = names[turn % len(names)]
            reads += 1
            try:
                data = fetch(name)
            except MissingError:
                self.missing += 1
                continue
            verdict = self._verdict_of(data)
            self.bad += verdict not in self.expected.get(name, {"index"})
            seen += last.get(name, verdict) != verdict
            last[name] = verdict
        self.reads += reads
        self.changes += seen

    def _verdict_of(self, data: bytes) -> str:
        key = hashlib.sha256(data).digest()
        if key not in self._known:
            self._known[key] = self._verdict(data)
        return self._known[key]

    def _verdict(self, data: bytes) -> str:
        try:
            plain = gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data
        except (EOFError, OSError, zlib.error):
            return "torn"
        if b"<sitemapindex" not in plain[:200]:
            return hashlib.sha256(plain).hexdigest()
        listed = {url.removeprefix(f"{ORIGIN}/") for url in urls_in(plain)}
        whole = plain.rstrip().endswith(b"</sitemapindex>")
        return "index" if whole and listed == set(self.expected) else "torn"


def from_files(directory: Path, suffix: str = ".gz") -> Fetch:
    """Return what opens files."""

    def fetch(name: str) -> bytes:
        try:
            return (directory / f"{name}{suffix}").read_bytes()
        except FileNotFoundError as error:
            raise MissingError from error

    return fetch


class FromServer:
    """Asks a web server, for gzip every other time."""

    def __init__(self, address: str) -> None:
        self._connection = http.client.HTTPConnection(address, timeout=60)
        self._turns = count()

    def __call__(self, name: str) -> bytes:
        """Return a document as it was sent."""
        coding = "gzip" if next(self._turns) % 2 else "identity"
        headers = {"Accept-Encoding": coding}
        self._connection.request("GET", f"/{name}", headers=headers)
        response = self._connection.getresponse()
        data = response.read()
        if response.status != 200:
            raise MissingError(response.status)
        return data

    def close(self) -> None:
        """Hang up."""
        self._connection.close()


def from_storage(name: str) -> bytes:
    """Read a page's row, then its object, as the view does."""
    if name == "sitemap.xml":
        row = Page.objects.get(section__name=INDEX, number=0)
    else:
        number = name.removesuffix(".xml").rpartition("-")[2]
        row = Page.objects.get(section__name="products", number=number)
    try:
        return read_object(row.object, row.gzip_hash)
    except StoreError as error:
        raise MissingError from error


def read_by_many(
    readings: Readings, fetches: list[Fetch], least: int, changes: int
) -> None:
    """Let several readers read at the same time."""

    def read(fetch: Fetch) -> None:
        try:
            readings.read(fetch, least, changes)
        finally:
            connections.close_all()
            if isinstance(fetch, FromServer):
                fetch.close()
            if hasattr(storage := get_storage(), "connection"):
                storage.connection.meta.client.close()  # of S3, one for each thread

    with ThreadPoolExecutor(len(fetches)) as pool:
        list(pool.map(read, fetches))
