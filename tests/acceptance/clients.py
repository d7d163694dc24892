"""Reads a site's sitemaps with a client that others wrote; run as a program.

It prints a JSON object of the URLs found and their dates.
"""

import json
import sys
from collections.abc import Iterator
from datetime import UTC
from typing import Any

Found = dict[str, str | None]


def ultimate_sitemap_parser(base_url: str) -> Found:
    from usp.tree import sitemap_tree_for_homepage

    tree = sitemap_tree_for_homepage(f"{base_url}/")
    found: Found = {}
    for page in tree.all_pages():
        moment = page.last_modified
        found[page.url] = moment and moment.astimezone(UTC).isoformat()
    return found


def scrapy(base_url: str) -> Found:
    """Read the index and all its pages with scrapy's sitemap spider."""
    from scrapy.crawler import CrawlerProcess
    from scrapy.spiders import SitemapSpider

    found: Found = {}

    class Spider(SitemapSpider):
        name = "sitemaps"
        sitemap_urls = (f"{base_url}/sitemap.xml",)

        def sitemap_filter(self, entries: Any) -> Iterator[dict[str, Any]]:
            if entries.type == "sitemapindex":
                yield from entries
            # What they list is noted, not fetched.
            else:
                found.update((e["loc"], e.get("lastmod")) for e in entries)

    process = CrawlerProcess({"LOG_LEVEL": "WARNING", "TELNETCONSOLE_ENABLED": False})
    process.crawl(Spider)
    process.start()
    return found


CLIENTS = {"ultimate-sitemap-parser": ultimate_sitemap_parser, "scrapy": scrapy}

if __name__ == "__main__":
    json.dump(CLIENTS[sys.argv[1]](sys.argv[2]), sys.stdout)
