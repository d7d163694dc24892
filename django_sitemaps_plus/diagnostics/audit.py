"""The audit of files and of where they lead, on a disk, a server or in this project."""

from __future__ import annotations

import math
import re
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from html.parser import HTMLParser
from http.client import HTTPException
from itertools import pairwise
from pathlib import Path
from random import Random
from time import monotonic
from typing import Any
from urllib.error import HTTPError
from urllib.parse import urldefrag, urljoin, urlsplit
from urllib.request import HTTPRedirectHandler, ProxyHandler, Request, build_opener

from django.db import Error
from django.utils import timezone

from django_sitemaps_plus.conf import Site
from django_sitemaps_plus.core.locations import encode_url
from django_sitemaps_plus.core.robots import parse_robots
from django_sitemaps_plus.core.validation import Checker, Fault, File, Problem
from django_sitemaps_plus.core.validation.entries import read_url
from django_sitemaps_plus.core.validation.reader import read_text
from django_sitemaps_plus.core.xml import printable
from django_sitemaps_plus.models import INDEX, Figure, Page, Section
from django_sitemaps_plus.site_urls import index_urls, page_url
from django_sitemaps_plus.sites import language_sites
from django_sitemaps_plus.sources.lines import LASTMOD_NOW

from .asking import ask

#: Seconds for each step of an answer.
STEP_SECONDS = 10

#: Problems of one rule in one file that are shown.
MAX_SHOWN = 10

_PIECE = 65_536
_HEADERS = {"Accept-Encoding": "gzip", "User-Agent": "django-sitemaps-plus"}

# Characters of a page that are searched for its <head>.
_MAX_HEAD = 200_000

_NOINDEX = re.compile(r"\bnoindex\b|(?:^|,|bot:) *none *(?:,|$)", re.IGNORECASE)

_CODES = dict.fromkeys((401, 403), "page-forbidden")
_CODES |= dict.fromkeys((404, 410), "page-missing")

_HINTS = {
    400: "; is the host in ALLOWED_HOSTS?",
    503: "; manage.py sitemap_doctor may know why",
}


class Inspection:
    """Checks files, counts problems, and shows the first of each rule in each file."""

    def __init__(self, show: Callable[[Problem], None]) -> None:
        self.counts = Counter[tuple[str, str]]()  # by file and rule
        self.errors = self.warnings = self.files = self.entries = 0
        self.is_cut = False  # there was no time for all files
        self._show, self._read = show, set[str]()
        # Origins of languages, on which a sitemap may list URLs as well.
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
        if file.kind == "url":  # an index lists files, which count as such
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
        listed = {}
        for path in paths.values():
            begin = ""
            with suppress(Fault):
                begin = next(read_text(_file_pieces(path)), "")
            if "<sitemapindex" not in begin:
                continue
            checker = Checker(lambda problem: None, datetime.now(UTC))
            for url in checker.check(str(path), _file_pieces(path)).urls:
                name = urlsplit(url).path.rpartition("/")[2].removesuffix(".gz")
                listed[name] = url
                if name not in paths:
                    words = f"it lists {url}, but there is no file {name} beside it"
                    self.report(str(path), "unreachable", words)
        for name, path in paths.items():
            url = listed.get(name, "")
            self._check(str(path), _file_pieces(path), url, listed=bool(url))


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


class Audit:
    """Checks the project's own sitemaps, and a sample of the pages that they list.

    The sample is that of each file, 0 for all; sections limit it to their own.
    """

    def __init__(
        self, inspection: Inspection, site: Site, sections: Iterable[str], sample: int
    ) -> None:
        self._inspection, self._site, self._sample = inspection, site, sample
        self._wanted = [page_url(it, 1, site).removesuffix("1.xml") for it in sections]
        response = ask(f"{site.origin}/robots.txt", site)
        is_there = response.status_code == 200 and site.script_prefix == "/"
        text = response.getvalue().decode("utf-8-sig", "replace") if is_there else ""
        self._rules = parse_robots(text, "googlebot")

    def run(self, seconds: float = math.inf) -> None:
        """Check what there is time for; raise NoReverseMatch without a URL for it."""
        until = monotonic() + seconds
        for url in index_urls(self._site):
            for file in self._inspection.walk(url, self._fetch):
                if monotonic() >= until:
                    self._inspection.is_cut = True
                    return
                if file.kind == "url":
                    self._visit(file)

        # The last build of a page found whether its lastmods are no news.
        pages = Page.objects.active().filter(section__site=self._site.name)
        rows = pages.filter(problems__0__action=LASTMOD_NOW.action)
        with suppress(Error):  # all may be served live, before our tables are made
            for section, number in rows.values_list("section__name", "number"):
                url = page_url(section, number, self._site)
                self._inspection.report(url, "lastmod-now", str(LASTMOD_NOW))

    def _fetch(self, url: str) -> Iterator[bytes]:
        self._check_robots(url)
        response = ask(url, self._site)
        if response.status_code != 200:
            raise Fault("http-status", _status(response))
        yield from response

    def _visit(self, file: File) -> None:
        """Report why an engine would not index pages that a file lists."""
        if self._wanted and f"{file.url.rpartition('-')[0]}-" not in self._wanted:
            return
        ours = self._site.origin + self._site.script_prefix
        urls = [url for url in file.urls if url.startswith(ours)]
        report = partial(self._inspection.report, file.name)
        for url in _sample(urls, self._sample, file.url):
            try:
                self._check_robots(url)
            except Fault as fault:
                report(fault.code, str(fault))
            response = ask(url, self._site)
            status, target = response.status_code, response.headers.get("Location")
            if 300 <= status < 400:
                words = f"{url} redirects to {target}: list that page, or none"
                report("page-redirect", words)
            elif status != 200:
                words = f"{url}: {_status(response)}. Mend it, or leave it out"
                report(_CODES.get(status, "page-error"), words)
            else:
                for found in _indexing_faults(url, response):
                    report(found.code, str(found))
            if response.streaming:  # a file, perhaps
                response.close()

    def _check_robots(self, url: str) -> None:
        if not self._rules.allows(url.removeprefix(self._site.origin) or "/"):
            words = "allow it, or leave it out"
            raise Fault("page-blocked", f"robots.txt forbids {url}: {words}")


def _sample(urls: list[str], count: int, seed: str) -> list[str]:
    """Return the first and last URL, and between them one of each equal stretch.

    By chance, since languages and drafts alternate; the same in each run.
    """
    if not 0 < count < len(urls):
        return urls
    ends = [len(urls) * number // count for number in range(count + 1)]
    chance = Random(seed)  # noqa: S311 - no secret
    places = [chance.randrange(*stretch) for stretch in pairwise(ends)]
    places[-1], places[0] = len(urls) - 1, 0
    return [urls[place] for place in places]


def _status(response: Any) -> str:
    why = _HINTS.get(response.status_code, "")
    if (error := response.error) is not None:
        why = f": {type(error).__name__}: {error}"
    return f"the project answers {response.status_code} {response.reason_phrase}{why}"


def _indexing_faults(url: str, response: Any) -> Iterator[Fault]:
    head = _Head()
    if response.headers.get("Content-Type", "").startswith("text/html"):
        text = response.getvalue().decode(response.charset or "utf-8", "replace")
        with suppress(AssertionError):  # HTMLParser's, at some odd declarations
            head.feed(text[:_MAX_HEAD])
    header = response.headers.get("X-Robots-Tag", "")
    values = [("header X-Robots-Tag", header), *[("<meta>", it) for it in head.robots]]
    for where, value in values:
        if _NOINDEX.search(value):
            words = f"has a {where} of {value!r}: remove it, or leave the page out"
            yield Fault("page-noindex", f"{url} {words}")
    for canonical in head.canonical:
        with suppress(ValueError):
            canonical = encode_url(urldefrag(urljoin(url, canonical.strip()))[0])
        if canonical != url:
            words = f"{url} has the canonical URL {canonical}: list that"
            yield Fault("page-canonical", words)


class _Head(HTMLParser):
    """The words of a page to crawlers; Google reads <meta> in <body> too."""

    def __init__(self) -> None:
        super().__init__()
        self.robots: list[str] = []
        self.canonical: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        name, rel = given.get("name", "").lower(), given.get("rel", "").lower()
        if tag == "meta" and name in ("robots", "googlebot", "bingbot"):
            self.robots.append(given.get("content", ""))
        elif tag == "link" and "canonical" in rel.split():
            self.canonical.append(given.get("href", ""))


#: Problems that are kept of an audit, and characters of their words.
MAX_KEPT, MAX_WORDS = 200, 1_000


def keep_findings(site: Site, report: Mapping[str, Any]) -> None:
    """Keep the report of an audit in the place of the last one."""
    problems = [
        {
            name: printable(value)[:MAX_WORDS] if isinstance(value, str) else value
            for name, value in problem.items()
        }
        for problem in report["problems"][:MAX_KEPT]
    ]
    at, counts = timezone.now().isoformat(), report.get("counts")
    since = counts and ((read_findings(site) or {}).get("since") or at)
    findings = {"at": at, "since": since, **report, "problems": problems}
    Section.objects.note_of_index(site.name, findings=findings)
    if not report.get("is_cut"):  # else there seem to be fewer than there are
        count = sum(report.get("counts", {}).values())
        Figure.objects.add(site.name, INDEX, {Figure.Kind.FINDINGS: count})


def read_findings(site: Site) -> dict[str, Any] | None:
    """Return the report of the last audit, and when it was; None before the first."""
    rows = Section.objects.filter(site=site.name, name=INDEX)
    return rows.values_list("findings", flat=True).first()
