"""Sitemap files in text, for tests of what checks them."""

#: URLs of a page and of an index.
PAGE = "https://shop.example/sitemap-products-1.xml"
INDEX = "https://shop.example/sitemap.xml"

XMLNS = "http://www.sitemaps.org/schemas/sitemap/0.9"

_EXTENSIONS = {
    "image": "http://www.google.com/schemas/sitemap-image/1.1",
    "video": "http://www.google.com/schemas/sitemap-video/1.1",
    "news": "http://www.google.com/schemas/sitemap-news/0.9",
    "xhtml": "http://www.w3.org/1999/xhtml",
}


def entry(path: str, inside: str = "") -> str:
    return f"<url><loc>https://shop.example{path}</loc>{inside}</url>"


def listed(path: str) -> str:
    return f"<sitemap><loc>https://shop.example{path}</loc></sitemap>"


def urlset(*entries: str) -> bytes:
    """Return an urlset; its first entry is on line 3."""
    declared = " ".join([f'xmlns:{k}="{uri}"' for k, uri in _EXTENSIONS.items()])
    return _document(f'<urlset xmlns="{XMLNS}" {declared}>', *entries, "</urlset>")


def index(*paths: str) -> bytes:
    """Return an index; its first entry is on line 3."""
    start = f'<sitemapindex xmlns="{XMLNS}">'
    return _document(start, *map(listed, paths), "</sitemapindex>")


def _document(*lines: str) -> bytes:
    return "\n".join(['<?xml version="1.0" encoding="UTF-8"?>', *lines]).encode()
