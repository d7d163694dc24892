"""Reading text sitemaps and feeds, by parsers of others."""

from typing import Any

import feedparser
from lxml import etree
from usp.tree import sitemap_from_str


def text(client: Any, path: str) -> list[str]:
    """Return the lines of a text sitemap; another's parser finds the same."""
    response = client.get(path)
    assert response.status_code == 200
    content = response.content.decode()
    lines = content.splitlines()
    assert content == "".join(f"{line}\n" for line in lines)
    assert {page.url for page in sitemap_from_str(content).all_pages()} == set(lines)
    return lines


def feed(client: Any, path: str) -> Any:
    """Return a feed; three parsers find the same URLs in it."""
    response = client.get(path)
    assert response.status_code == 200
    found = feedparser.parse(response.content)
    assert not found.bozo
    assert found.version == ("rss20" if path.endswith("rss") else "atom10")
    urls = [entry.link for entry in found.entries]
    assert [entry.id for entry in found.entries] == urls
    pages = sitemap_from_str(response.content.decode()).all_pages()
    assert {page.url for page in pages} == set(urls)
    root = etree.fromstring(response.content)
    assert len(root.findall(".//{*}item") + root.findall(".//{*}entry")) == len(urls)
    return found


def urls_of(client: Any, path: str) -> list[str]:
    return [entry.link for entry in feed(client, path).entries]
