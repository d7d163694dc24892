"""Random requests of HTTP, odd in path, query, method and headers."""

from __future__ import annotations

import random
import string
from collections.abc import Iterable, Iterator, Sequence

from tests.support.key_files import PATH

NUMBERS = (
    *["1", "2", "3", "4", "5", "6", "7"] * 4,
    *["0", "-1", "01", "1e3", "1.0", "+1", "0x1"],
    "999999999",
    str(10**9),
    "9" * 5_000,
    "\u0661\u0662",
    "\uff11",
    "1%00",
    "1%0a",
    "1\n",
    " 1",
    "",
)

ODD_SECTIONS = (
    *("nobody", "", "..", "-", "_", "a" * 64, "a" * 65),
    *("%2e%2e%2f", "b\u00fcilt", "<script>"),
)

ODD_NAMES = ("{}-1", "{}%00", "{}'--")

ENDINGS = (*[".xml"] * 8, ".xml.gz", ".txt", ".rss", ".xml/", ".xml%00", "")

PATHS = (
    "/sitemap.xml",
    "/sitemap.xml.gz",
    "/sitemaps-2.xml",
    "/sitemaps-1.xml",
    "/sitemaps-0.xml",
    "/sitemaps-999999.xml",
    "/sitemaps-2.xml.gz",
    "/sitemaps-9999999.xml",
    "/sitemap.xml/",
    "/%2Fsitemap.xml",
    "/%2e%2e/sitemap.xml",
    "/sitemap.xml%0d%0aX-Evil:1",
    "/sitemap\u2028.xml",
    *["/robots.txt", "/robots.txt/", "/ROBOTS.TXT", "/robots.txt%0a"],
    *[PATH, f"{PATH}%00", PATH.upper(), "/humans.txt", f"/{'k' * 5_000}.txt"],
)

METHODS = (*["GET"] * 8, *["HEAD"] * 3, "POST", "PUT", "DELETE", "OPTIONS", "BREW")

HEADERS: dict[str, tuple[str, ...]] = {
    "Accept": ("*/*", "text/html", "application/xml;q=0", "a/b," * 16_000),
    "Accept-Encoding": (
        *("gzip", "identity;q=0", "*;q=0", "gzip;q=x", "gzip;q=1e999", "gzip;q=nan"),
        *("gzip;;;=", ",,,,", "br", "gzip;q=0.001", "x" * 65_536, "gzip," * 13_000),
    ),
    "Accept-Language": ("de", "xx-YY", "*", "de;q=nan", "d" * 65_536),
    "If-None-Match": (
        *("*", '"x"', 'W/"x"', '"', "W/", '"a", "b", W/"c"', "\x00"),
        '"' + "f" * 64 + '",' * 2,
        ", ".join([f'"{number:064x}"' for number in range(15_000)]),
    ),
    "If-Match": ("*", '"x"', 'W/"x"', ","),
    "If-Modified-Since": (
        *("Thu, 01 Jan 2026 00:00:00 GMT", "Fri, 31 Dec 9999 23:59:59 GMT", "never"),
        *("Thu, 99 Jan 2026 00:00:00 GMT", "Thu, 01 Jan 0000 00:00:00 GMT", "0"),
        "Thursday, 01-Jan-70 00:00:00 GMT",
    ),
    "If-Unmodified-Since": ("Thu, 01 Jan 1970 00:00:00 GMT", "x"),
    "If-Range": ('"x"', "Thu, 01 Jan 2026 00:00:00 GMT"),
    "Range": ("bytes=0-0", "bytes=-1", "bytes=9-1", "bytes=0-0," * 5_000, "items=1"),
    "Host": ("example.com", "evil.example", "a b", "[::1", "x" * 5_000, "", "\u00e9"),
    "X-Forwarded-Host": ("evil.example",),
    "X-Forwarded-Proto": ("gopher",),
    "Cookie": ("sessionid=" + "x" * 8_000, "=;=;", "csrftoken=\x00"),
    "Content-Length": ("1000000",),
    "X-Http-Method-Override": ("DELETE",),
}

QUERIES = (
    "",
    "",
    "",
    "?p=1",
    "?p=2",
    "?p=999",
    "?p=" + "9" * 5_000,
    "?%00",
    "?a[]=1&a[]=2",
    "?",
)


class Requests:
    """Random requests, each odd in a few ways."""

    def __init__(
        self, seed: int, sections: Sequence[str], tags: Iterable[tuple[str, str]]
    ) -> None:
        self.chance = random.Random(seed)
        damaged = [form.format(sections[0]) for form in ODD_NAMES]
        self.sections = [*sections * 8, *ODD_SECTIONS, *damaged]
        self.known = [(path, f'W/"x", "{tag}"') for path, tag in tags]

    def many(self, count: int) -> Iterator[tuple[str, str, dict[str, str]]]:
        """Yield that many requests."""
        return (self.make() for _ in range(count))

    def make(self) -> tuple[str, str, dict[str, str]]:
        """Return method, URL and headers."""
        chance = self.chance
        path = self._page() if chance.random() < 0.75 else chance.choice(PATHS)
        if chance.random() < 0.1:
            path = self._damaged(path)
        names = chance.sample(list(HEADERS), chance.choice([0, 0, 1, 1, 2, 3, 5]))
        headers = {name: chance.choice(HEADERS[name]) for name in names}
        if self.known and chance.random() < 0.1:
            path, headers["If-None-Match"] = chance.choice(self.known)
        return chance.choice(METHODS), path + chance.choice(QUERIES), headers

    def _page(self) -> str:
        choice = self.chance.choice
        number = choice(["", *[f"-{number}" for number in NUMBERS]])
        return f"/sitemap-{choice(self.sections)}{number}{choice(ENDINGS)}"

    def _damaged(self, path: str) -> str:
        at = self.chance.randrange(2, len(path) + 1)
        return path[:at] + self.chance.choice(string.printable[:94]) + path[at:]


#: What the promise allows for any path, query and header.
PROMISED = {200, 301, 304, 400, 404, 406, 410}

#: RFC 9110 asks for 412 where If-Match or If-Unmodified-Since does not hold, and for
#: 405 where the method is another than GET or HEAD.
PRECONDITIONS = {"If-Match", "If-Unmodified-Since"}


def is_allowed(status: int, method: str, headers: Iterable[str]) -> bool:
    """Return whether a request of this kind may be answered so."""
    if method not in ("GET", "HEAD"):
        return status == 405 or status in PROMISED - {200, 304}
    return status in PROMISED or (
        status == 412 and not PRECONDITIONS.isdisjoint(headers)
    )
