"""The robots.txt of a site: rules and lines of its settings, and every index.

A crawler that gets a 5xx fetches nothing at all (RFC 9309, 2.3.1.4), so nothing here
raises: what cannot be used or told is left out, and the log says so.
"""

from __future__ import annotations

import logging

from django.http import HttpRequest
from django.urls import NoReverseMatch

from django_sitemaps_plus.conf import DEFAULT_SITE, Site, get_site
from django_sitemaps_plus.core.robots import render_robots
from django_sitemaps_plus.exceptions import ConfigurationError
from django_sitemaps_plus.models.transactions import contained
from django_sitemaps_plus.site_urls import index_url, index_urls

from .rules import robots_records

logger = logging.getLogger(__name__)

#: The indexes that a site had when its rows could be read last, by its name.
_last: dict[str, tuple[Site, list[str]]] = {}


def render_site_robots(request: HttpRequest | None = None) -> bytes:
    """Render the robots.txt of the site in force; it always can be."""
    given = robots_records()
    urls = sitemap_urls(request)
    content, left_out = render_robots(given.groups, given.extra, urls)
    if left_out:
        logger.error(
            "robots.txt is full: %d lines are left out, from %r on",
            len(left_out),
            left_out[0][:200],
            extra={"action": "robots_full"},
        )
    return content


def sitemap_urls(request: HttpRequest | None = None) -> list[str]:
    """Return the URLs of all Sitemap lines: the site's indexes, then other hosts'."""
    return list(dict.fromkeys([*_own_urls(request), *robots_records().sitemaps]))


def _own_urls(request: HttpRequest | None) -> list[str]:
    site = None
    try:
        site = get_site(request)
        with contained():
            urls = index_urls(site)
    except ConfigurationError as error:
        logger.error("No index can be named: %s", error, extra={"action": "no_origin"})
        return []
    except Exception:
        # Whatever a database, its router or its client raises.
        logger.exception("Indexes cannot be read", extra={"action": "rows_failed"})
        return _told_last(site)
    _last[site.name] = (site, urls)
    return urls


def _told_last(site: Site | None) -> list[str]:
    """Return the indexes that were told last, else the one that each site has."""
    known, urls = _last.get(site.name if site else DEFAULT_SITE, (None, []))
    if site is None or known == site:
        return urls
    try:
        return [index_url(site)]
    except NoReverseMatch:
        return []
