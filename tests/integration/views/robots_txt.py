"""A robots.txt as crawlers read it."""

from __future__ import annotations

from typing import Any
from urllib.robotparser import RobotFileParser

URL = "/robots.txt"
FIRST = "https://example.com/sitemap.xml"
SECOND = "https://example.com/sitemaps-2.xml"


def lines_of(response: Any) -> list[str]:
    """Return the lines of a robots.txt that is well."""
    assert response.status_code == 200
    assert response["Content-Type"] == "text/plain; charset=utf-8"
    return response.content.decode().splitlines()


def sitemaps(response: Any) -> list[str]:
    """Return the sitemaps that Python finds in a robots.txt."""
    parser = RobotFileParser()
    parser.parse(lines_of(response))
    return parser.site_maps() or []
