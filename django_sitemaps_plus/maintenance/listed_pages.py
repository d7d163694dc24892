"""Listed pages: what this project itself answers where its sitemaps lead."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from html.parser import HTMLParser
from itertools import pairwise
from random import Random
from typing import Any
from urllib.parse import urldefrag, urljoin

from django.db import Error

from django_sitemaps_plus.conf import Site
from django_sitemaps_plus.core.locations import encode_url
from django_sitemaps_plus.core.robots import parse_robots
from django_sitemaps_plus.core.validation import Fault, File
from django_sitemaps_plus.models import Page
from django_sitemaps_plus.models.pages import RENDERED_NOW
from django_sitemaps_plus.site_urls import index_urls, page_url

from .project import Project
from .sitemap_files import Inspection

# Characters of a page that are searched for its <head>.
_MAX_HEAD = 200_000

_NOINDEX = re.compile(r"\bnoindex\b|(?:^|,|bot:) *none *(?:,|$)", re.IGNORECASE)

_CODES = dict.fromkeys((401, 403), "page-forbidden")
_CODES |= dict.fromkeys((404, 410), "page-missing")

_HINTS = {
    400: "; is the host in ALLOWED_HOSTS?",
    503: "; manage.py sitemap_doctor may know why",
}


class Audit:
    """Checks the project's own sitemaps, and a sample of the pages that they list.

    Of each file so many pages are asked, all for 0; sections limit them to their own.
    """

    def __init__(
        self, inspection: Inspection, site: Site, sections: Iterable[str], sample: int
    ) -> None:
        self._inspection, self._site, self._sample = inspection, site, sample
        self._wanted = [page_url(it, 1, site).removesuffix("1.xml") for it in sections]
        self._project = Project(site)
        response = self._project.get(f"{site.origin}/robots.txt")
        is_there = response.status_code == 200 and site.script_prefix == "/"
        text = response.getvalue().decode("utf-8-sig", "replace") if is_there else ""
        self._rules = parse_robots(text, "googlebot")

    def run(self) -> None:
        """Check all; raise NoReverseMatch where the URLconf has no sitemaps."""
        for url in index_urls(self._site):
            for file in self._inspection.walk(url, self._fetch):
                if file.kind == "url":
                    self._visit(file)

        self._check_lastmods()

    def _check_lastmods(self) -> None:
        """Report pages whose lastmods are no news, as their last build has found."""
        pages = Page.objects.active().filter(section__site=self._site.name)
        rows = pages.filter(problems__0=RENDERED_NOW)
        with suppress(Error):  # all may be served live, before our tables are made
            for section, number in rows.values_list("section__name", "number"):
                url = page_url(section, number, self._site)
                self._inspection.report(url, "lastmod-now", RENDERED_NOW)

    def _fetch(self, url: str) -> Iterator[bytes]:
        self._check_robots(url)
        response = self._project.get(url)
        if response.status_code != 200:
            raise Fault("http-status", _status(response))
        yield from response

    def _visit(self, file: File) -> None:
        if self._wanted and f"{file.url.rpartition('-')[0]}-" not in self._wanted:
            return
        ours = self._site.origin + self._site.script_prefix
        urls = [url for url in file.urls if url.startswith(ours)]
        for url in _sample(urls, self._sample, file.url):
            for fault in self._page_faults(url):
                self._inspection.report(file.name, fault.code, str(fault))

    def _page_faults(self, url: str) -> Iterator[Fault]:
        """Yield why an engine would not index a page."""
        try:
            self._check_robots(url)
        except Fault as fault:
            yield fault
        response = self._project.get(url)
        status = response.status_code
        if 300 <= status < 400:
            words = f"redirects to {response.headers.get('Location')}: list that page"
            yield Fault("page-redirect", f"{url} {words}, or none")
        elif status != 200:
            words = f"{url}: {_status(response)}. Mend it, or leave it out"
            yield Fault(_CODES.get(status, "page-error"), words)
        else:
            yield from _indexing_faults(url, response)
        if response.streaming:  # the client has closed others
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
    if error := getattr(response, "exc_info", None):
        why = f": {error[0].__name__}: {error[1]}"
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
    """What a page says to crawlers; Google reads <meta> in <body> too."""

    def __init__(self) -> None:
        super().__init__()
        self.robots: list[str] = []
        self.canonical: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Take a meta or a link."""
        given = {name: value or "" for name, value in attrs}
        name, rel = given.get("name", "").lower(), given.get("rel", "").lower()
        if tag == "meta" and name in ("robots", "googlebot", "bingbot"):
            self.robots.append(given.get("content", ""))
        elif tag == "link" and "canonical" in rel.split():
            self.canonical.append(given.get("href", ""))
