"""What is published, read as a crawler reads it, and what is wrong with it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from django.test import Client
from lxml import etree

from .shop import table, unfinished

_LOC = re.compile(rb"<loc>([^<]*)</loc>")

_NAMESPACE = "{http://www.sitemaps.org/schemas/sitemap/0.9}"


def urls_in(document: bytes) -> list[str]:
    """Return the locations in a document, in order."""
    return [found.decode() for found in _LOC.findall(document)]


def urls_of(documents: Mapping[str, bytes]) -> list[str]:
    """Return every URL in some documents, sorted; one on two pages comes twice."""
    return sorted([url for page in documents.values() for url in urls_in(page)])


def crawl(client: Client | None = None) -> dict[str, bytes]:
    """Fetch the index and every page that it names; each must be there."""
    client = client or Client()
    response = client.get("/sitemap.xml")
    if response.status_code == 404:
        return {}
    assert response.status_code == 200, response.status_code
    documents = {}
    for url in urls_in(response.content):
        path = url.removeprefix("https://example.com")
        answer = client.get(path)
        assert answer.status_code == 200, (path, answer.status_code)
        documents[path] = answer.content
    return documents


def published_urls(client: Client | None = None) -> list[str]:
    """Return every URL that a crawler finds, sorted; a URL on two pages comes twice."""
    return urls_of(crawl(client))


def unpublished() -> list[str]:
    """Return what a build that has succeeded leaves nothing of, in words."""
    is_table = published_urls() == table()
    return unfinished() + ([] if is_table else ["the table is not published"])


def wrong_documents(documents: Mapping[str, bytes]) -> Iterator[str]:
    """Yield what is not valid, in words."""
    for path, document in documents.items():
        root = etree.fromstring(document)
        if root.tag != f"{_NAMESPACE}urlset" or not len(root):
            yield f"{path} is no urlset with entries"
        if any(url[0].tag != f"{_NAMESPACE}loc" for url in root):
            yield f"{path} has an entry without location"
