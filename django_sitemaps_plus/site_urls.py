"""The URLs of a site's indexes, pages and feeds, and of their stylesheet."""

from __future__ import annotations

import re
from collections.abc import Iterable
from contextlib import suppress
from urllib.parse import quote, unquote, urljoin, urlsplit

from django.apps import apps
from django.conf import STATICFILES_STORAGE_ALIAS, settings
from django.contrib.staticfiles.storage import StaticFilesStorage
from django.urls import NoReverseMatch, Resolver404, resolve, reverse
from django.utils.module_loading import import_string

from django_sitemaps_plus.conf import Site, get_settings
from django_sitemaps_plus.core.documents import page_lines
from django_sitemaps_plus.core.locations import absolute_url, encode_url
from django_sitemaps_plus.exceptions import ConfigurationError
from django_sitemaps_plus.models import Page
from django_sitemaps_plus.models.pages import Listed
from django_sitemaps_plus.registry import registry
from django_sitemaps_plus.sites import own_sites, site_at
from django_sitemaps_plus.sources import SitemapSource, surroundings

# A number that stands for any other in the URL of a page.
_SAMPLE = 123_456_789


#: The line by which a URLconf has the views of sitemaps.
INCLUDED = 'path("", include("django_sitemaps_plus.urls"))'


class NotIncludedError(ConfigurationError, NoReverseMatch):
    """The URLconf lacks our URLs, or has them inside the namespace of others."""


def _url(site: Site, name: str, *args: object) -> str:
    with surroundings(site):
        return _url_here(site, name, *args)


def _url_here(site: Site, name: str, *args: object) -> str:
    try:
        return site.origin + reverse(f"sitemaps_plus:{name}", args=args)
    except NoReverseMatch as error:
        raise NotIncludedError(
            f"The URLconf does not lead to the sitemaps. Put {INCLUDED} into "
            "ROOT_URLCONF itself, not into what another namespace includes."
        ) from error


def page_url(section: str, number: int, site: Site) -> str:
    """Return the URL of a page; NotIncludedError where the URLconf lacks ours."""
    return _url(site, "page", section, number)


def index_url(site: Site, number: int = 0) -> str:
    """Return the URL of the first index, or of one with a number."""
    return _url(site, "index-more", number) if number else _url(site, "index")


def feed_url(section: str, form: str, site: Site) -> str:
    """Return the URL of a feed of a section: ``rss`` or ``atom``."""
    return _url(site, "feed", section, form)


def has_feed(section: str) -> bool:
    """Return whether entries of a registered section may have a lastmod."""
    if section not in registry:
        return False
    source = registry.get(section)
    if isinstance(source, SitemapSource):
        return source.may_have_lastmod
    return getattr(source, "lastmod", True) is not None


def feed_urls(site: Site, sections: Iterable[str]) -> list[str]:
    """Return the URLs of the feeds of sections."""
    names = filter(has_feed, sections)
    return [feed_url(name, form, site) for name in names for form in ("rss", "atom")]


def index_urls(site: Site) -> list[str]:
    """Return the URLs of all indexes of a site, by one query."""
    rows = [(0,), *Page.objects.index_numbers(site.name)]
    return [index_url(site, number) for (number,) in rows]


def with_scheme(url: str, site: Site) -> str:
    """Return a URL that lacks its scheme with that of the site; a path as it is.

    After two slashes stands a host. Without a slash before it, the first part is a
    host if it is that of the site, at any port, or below its domain; or if the site
    has no such path, and it has a port, or is a domain with ``www.`` or a slash after.
    """
    if url.startswith("/") and not url.startswith("//"):
        return url
    bare = url.removeprefix("//")
    first = re.split("[/?#]", bare, maxsplit=1)[0]
    try:
        parts = urlsplit(encode_url(f"https://{first}"))
    except ValueError:  # no host is written so, as the https: of a URL
        return url
    host, is_host = parts.hostname or "", bare != url
    for own in own_sites(site):
        domain = (urlsplit(own.origin).hostname or "").removeprefix("www.")
        is_host |= f".{host}".endswith(f".{domain}")

    # Versions and numbers, as in v1.2/notes/, have no letters at the end.
    named, _dot, last = host.rpartition(".")
    is_domain = bool(named) and (last.isalpha() or last.startswith("xn--"))
    is_domain &= host.startswith("www.") or bare[len(first) :].startswith("/")
    if not is_host and (is_domain or parts.port is not None):
        path = unquote(urlsplit(f"/{bare}").path).removeprefix(site.script_prefix)
        with surroundings(site):
            try:
                resolve(f"/{path}")
            except Resolver404:
                is_host = True
    return f"{site.origin.partition(':')[0]}://{bare}" if is_host else url


def as_listed(url: str, site: Site) -> str:
    """Return a URL or a path as ``loc`` would have it, or raise ValueError."""
    url = with_scheme(url, site)
    try:
        return absolute_url(url, (site_at(url, site) or site).origin)
    except ValueError as error:
        raise ValueError(f"{url!r} cannot be submitted: {error}") from error


def index_lines(site: Site, listed: Listed) -> list[str]:
    """Return the lines of an index: registered sections in their order, then others."""
    names = dict.fromkeys([*registry, *listed])
    lines: list[str] = []
    with surroundings(site):  # once for all
        for name in filter(listed.get, names):
            url = _url_here(site, "page", name, _SAMPLE)
            lines += page_lines(url, _SAMPLE, listed[name])
    return lines[: get_settings().max_sitemaps]


def stylesheet_url(site: Site) -> str:
    """Return the URL of what browsers show sitemaps by; "" for none.

    The URL has no hash of the file, so that a new version changes no sitemap.
    """
    name = get_settings().stylesheet or ""
    if not name or name.startswith(("/", "http://", "https://")):
        return name
    if not apps.is_installed("django.contrib.staticfiles"):
        return ""
    storage, options = object, settings.STORAGES.get(STATICFILES_STORAGE_ALIAS, {})
    with suppress(ImportError):
        storage = import_string(options.get("BACKEND", ""))
    if not issubclass(storage, StaticFilesStorage):
        return ""  # static files may be anywhere but below STATIC_URL
    with surroundings(site):  # STATIC_URL may begin at the script prefix
        return urljoin(settings.STATIC_URL or "/", quote(name))
