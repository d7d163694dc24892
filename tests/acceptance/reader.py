"""A crawler without pause: reads a site's whole set again and again, and checks it.

Run as ``python -m tests.acceptance.reader http://localhost:8000``; it prints a line a
round until it is stopped, and what was wrong with a file.
"""

import gzip
import sys
import threading
from typing import Any

from lxml import etree

from tests.support.documents import read_index, read_urlset
from tests.support.web import WebClient

#: Seconds after which a server that does not answer has hung.
HANG = 60


class Reader:
    """Reads every page that the index lists, as often as it can."""

    def __init__(self, base_url: str) -> None:
        self.base_url = base_url
        self.files = 0
        self.rounds = 0
        self.bad: list[str] = []
        self.urls: set[str] = set()
        self._client = WebClient(base_url, HANG)

    def read(self) -> None:
        urls: set[str] = set()
        for page in self._read(f"{self.base_url}/sitemap.xml", read_index):
            urls.update([entry.loc for entry in self._read(page, read_urlset)])
        self.urls = urls
        self.rounds += 1

    def _read(self, url: str, parse: Any) -> Any:
        self.files += 1
        try:
            return parse(self._fetch(url))
        except (OSError, AssertionError, etree.XMLSyntaxError) as error:
            self.bad.append(f"{url}: {type(error).__name__}: {error}")
            return []

    def _fetch(self, url: str) -> bytes:
        answer = self._client.get(url, {"Accept-Encoding": "gzip"})
        assert answer.status_code == 200, answer.status_code
        is_gzip = answer.get("Content-Encoding") == "gzip"
        return gzip.decompress(answer.content) if is_gzip else answer.content

    def run(self, stop: threading.Event) -> None:
        while not stop.is_set():
            self.read()


def main(base_url: str) -> None:
    """Read for ever, and print what was found."""
    reader = Reader(base_url)
    while True:
        told = len(reader.bad)
        reader.read()
        lines = [
            *reader.bad[told:],
            f"round {reader.rounds}: {reader.files:,} files read, "
            f"{len(reader.bad)} bad, {len(reader.urls):,} URLs",
        ]
        sys.stdout.write("\n".join([*lines, ""]))
        sys.stdout.flush()


if __name__ == "__main__":
    try:
        main(sys.argv[1].rstrip("/"))
    except KeyboardInterrupt:
        sys.exit(0)
