"""Reading sitemaps: the entries in them, and whether their schemas accept them."""

import functools
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lxml import etree

#: The rules in our own words, and a copy of what is published, if there is one.
SCHEMAS = Path(__file__).parent / "schemas"
PUBLISHED = Path(__file__).parents[2].parent / "shared" / "xsd"

_SITEMAP = "{http://www.sitemaps.org/schemas/sitemap/0.9}"
_LINK = "{http://www.w3.org/1999/xhtml}link"


@dataclass(frozen=True, order=True)
class Listed:
    """One element of a urlset, as text."""

    loc: str
    lastmod: str | None = None
    changefreq: str | None = None
    priority: str | None = None
    alternates: tuple[tuple[str, str], ...] = field(default=())


def read_urlset(content: bytes) -> list[Listed]:
    return [*_entries(content)]


@functools.lru_cache(32)  # the pages of a site, most of which no edit changes
def _entries(content: bytes) -> tuple[Listed, ...]:
    root, names = parse(content, "urlset"), ("loc", "lastmod", "changefreq", "priority")
    return tuple(
        Listed(
            *[url.findtext(_SITEMAP + name) for name in names],
            tuple([(x.get("hreflang"), x.get("href")) for x in url.iter(_LINK)]),
        )
        for url in root
    )


def read_index(content: bytes) -> dict[str, str | None]:
    """Return location and lastmod of the pages of an index that is valid."""
    root = parse(content, "sitemapindex")
    items = [
        (item.findtext(f"{_SITEMAP}loc"), item.findtext(f"{_SITEMAP}lastmod"))
        for item in root
    ]
    assert len(dict(items)) == len(items), "a page is listed twice"
    return dict(items)


def locs(content: bytes) -> list[str]:
    return [listed.loc for listed in read_urlset(content)]


def all_locs(contents: Iterable[bytes]) -> list[str]:
    """Return the locations of several pages, one page after the other."""
    return [loc for content in contents for loc in locs(content)]


def parse(content: bytes, root_name: str) -> Any:
    root = etree.fromstring(content)
    assert root.tag == _SITEMAP + root_name
    for schema in schemas(root_name):
        schema.assertValid(root)
    return root


@functools.cache
def schemas(root_name: str) -> list[Any]:
    """Return our schema, and the published one where there is a copy."""
    name = {"urlset": "all-urlset.xsd", "sitemapindex": "siteindex.xsd"}[root_name]
    paths = [SCHEMAS / "sitemap.xsd", *PUBLISHED.glob(name)]
    return [etree.XMLSchema(etree.parse(path)) for path in paths]
