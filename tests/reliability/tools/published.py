"""What is published, read as a crawler reads it."""

from __future__ import annotations

import re

from django.test import Client

_LOC = re.compile(rb"<loc>([^<]*)</loc>")


def urls_in(document: bytes) -> list[str]:
    """Return the locations in a document, in order."""
    return [found.decode() for found in _LOC.findall(document)]


def crawl(client: Client | None = None) -> dict[str, bytes]:
    """Fetch the index and every page that it names; each must be there.

    Returns:
        The documents by path.
    """
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
    found = [url for document in crawl(client).values() for url in urls_in(document)]
    return sorted(found)
