"""Sitemap files: on a disk or a server, with those that their indexes list."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from http.client import HTTPException
from pathlib import Path
from urllib.error import HTTPError
from urllib.parse import urlsplit
from urllib.request import HTTPRedirectHandler, ProxyHandler, Request, build_opener

from django_sitemaps_plus.conf import language_sites
from django_sitemaps_plus.core.validation import Checker, Fault, File, Problem
from django_sitemaps_plus.core.validation.reader import read_text
from django_sitemaps_plus.core.validation.values import read_url

#: Seconds for each step of an answer.
STEP_SECONDS = 10

#: Problems of one rule in one file that are shown.
MAX_SHOWN = 10

_PIECE = 65_536
_HEADERS = {"Accept-Encoding": "gzip", "User-Agent": "django-sitemaps-plus"}


class Inspection:
    """Checks files, counts problems, and shows the first of each rule in each file."""

    def __init__(self, show: Callable[[Problem], None]) -> None:
        self.counts = Counter[tuple[str, str]]()  # by file and rule
        self.errors = self.warnings = self.files = self.entries = 0
        self._show, self._read = show, set[str]()
        # Where a sitemap may list URLs as well.
        self._origins = [f"{it.origin}/" for it in language_sites().values()]
        self._checker = Checker(self._count, datetime.now(UTC), self._origins)

    def check(self, target: str) -> None:
        """Check a file, the files of a directory, or those that a URL leads to."""
        try:
            if "://" in target:
                deque(self.walk(read_url(target), _answer_pieces), maxlen=0)
            elif Path(target).is_dir():
                self._check_directory(Path(target))
            else:
                self._check(target, _file_pieces(Path(target)))
        except Fault as fault:
            self.report(target, fault.code, str(fault))
        except OSError as error:
            self.report(target, "unreachable", str(error))

    def walk(
        self, url: str, fetch: Callable[[str], Iterator[bytes]], *, listed: bool = False
    ) -> Iterator[File]:
        """Check a file by its URL, then what it lists on the same host; yield each."""
        if url in self._read:
            return
        self._read.add(url)
        file = self._check(url, fetch(url), url, listed=listed)
        yield file
        if file.kind == "sitemap":
            origin = "/".join([*url.split("/")[:3], ""])
            for found in file.urls:
                if found.startswith(origin):
                    yield from self.walk(found, fetch, listed=True)

    def finish(self) -> None:
        """Compare what the files say of each other; the next ones are not compared."""
        self._checker.finish()
        self._checker = Checker(self._count, datetime.now(UTC), self._origins)

    def report(self, source: str, code: str, message: str) -> None:
        """Report a problem that a file as a whole has."""
        self._count(Problem(source, 0, code, message))

    def _count(self, problem: Problem) -> None:
        self.warnings += problem.is_warning
        self.errors += not problem.is_warning
        place = problem.source, problem.rule
        self.counts[place] += 1
        if self.counts[place] <= MAX_SHOWN:
            self._show(problem)

    def _check(
        self, name: str, pieces: Iterator[bytes], url: str = "", *, listed: bool = False
    ) -> File:
        file = self._checker.check(name, pieces, url, listed=listed)
        self.files += 1
        self.entries += len(file.urls)
        return file

    def _check_directory(self, directory: Path) -> None:
        """Check the files of a directory, by the URLs that indexes have for them."""
        paths = {
            path.name.removesuffix(".gz"): path  # of both the compressed one
            for path in sorted(directory.iterdir())
            if path.name.endswith((".xml", ".xml.gz")) and path.is_file()
        }
        if not paths:
            words = "has no sitemap files: none ends with .xml or .xml.gz"
            self.report(str(directory), "unreachable", words)
        listed = self._listed(paths)
        for name, path in paths.items():
            url = listed.get(name, "")
            self._check(str(path), _file_pieces(path), url, listed=bool(url))

    def _listed(self, paths: dict[str, Path]) -> dict[str, str]:
        """Return the URLs that indexes have for files beside them, by their names."""
        listed = {}
        for path in filter(_is_index, paths.values()):
            checker = Checker(lambda problem: None, datetime.now(UTC))
            for url in checker.check(str(path), _file_pieces(path)).urls:
                name = urlsplit(url).path.rpartition("/")[2].removesuffix(".gz")
                listed[name] = url
                if name not in paths:
                    words = f"it lists {url}, but there is no file {name} beside it"
                    self.report(str(path), "unreachable", words)
        return listed


class _NoRedirects(HTTPRedirectHandler):
    """Takes a redirect for an answer."""

    def redirect_request(self, *args: object, **kwargs: object) -> None:
        """Follow none."""


_OPENER = build_opener(ProxyHandler({}), _NoRedirects)


def _answer_pieces(url: str) -> Iterator[bytes]:
    """Yield the answer of a server, or raise Fault."""
    request = Request(url, headers=_HEADERS)  # noqa: S310 - it is http or https
    try:
        with _OPENER.open(request, timeout=STEP_SECONDS) as response:
            yield from iter(partial(response.read1, _PIECE), b"")
    except HTTPError as error:
        error.close()
        if target := error.headers.get("Location"):
            words = f"it redirects to {target}: list and submit that URL"
            raise Fault("fetch-redirect", words) from error
        words = f"it answers {error.code} {error.reason}"
        raise Fault("http-status", words) from error
    except (OSError, HTTPException, UnicodeError) as error:
        words = str(getattr(error, "reason", "") or error) or type(error).__name__
        raise Fault("unreachable", f"it could not be read: {words}") from error


def _file_pieces(path: Path) -> Iterator[bytes]:
    try:
        with path.open("rb") as file:
            yield from iter(partial(file.read, _PIECE), b"")
    except OSError as error:
        raise Fault("unreachable", error.strerror or str(error)) from error


def _is_index(path: Path) -> bool:
    """Return whether a file begins as an index does."""
    with suppress(Fault):
        return "<sitemapindex" in next(read_text(_file_pieces(path)), "")
    return False
