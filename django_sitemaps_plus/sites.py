"""Sites: which there are, by the setting or by rows of ``django.contrib.sites``."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from copy import copy
from dataclasses import replace
from functools import reduce
from ipaddress import ip_address
from operator import or_
from types import SimpleNamespace
from typing import Any, TypeVar
from urllib.parse import unquote, urlsplit

from django.apps import apps
from django.conf import settings
from django.contrib.sites.requests import RequestSite
from django.core.exceptions import ImproperlyConfigured, ObjectDoesNotExist
from django.db import Error
from django.db.models import Q
from django.http import Http404, HttpRequest
from django.utils.translation import gettext as _

from .conf import (
    DEFAULT_SITE,
    Site,
    get_settings,
    in_force,
    is_test_run,
    setting_name,
    site_in_force,
    until_settings_change,
)
from .core.locations import encode_url
from .exceptions import ConfigurationError, SitemapsPlusError
from .outages import in_one_line

T = TypeVar("T")

logger = logging.getLogger(__name__)


#: Characters of a domain and its port, at most.
MAX_HOST = 253 + len(":65535")


def for_each(sites: Iterable[Site | None], work: Callable[[], T]) -> list[T]:
    """Do something for each site, and raise the first error at the end."""
    done, errors = list[T](), list[Exception]()
    for site in sites:
        try:
            with in_force(site):
                done.append(work())
        except (SitemapsPlusError, ImproperlyConfigured, Error) as error:
            errors.append(error)
    for other in errors[1:]:
        logger.error("%s", in_one_line(other), extra={"action": "site_failed"})
    if errors:
        raise errors[0]
    return done


def get_site(request: HttpRequest | None = None) -> Site:
    """Return the site in force, else the only one, else the one of a request's host.

    With ``contrib.sites`` that is the one of SITE_ID, where it is set.

    Raises:
        ConfigurationError: there is no origin, or none of several sites was chosen.
        Http404: none of several sites has the host.
    """
    if site := site_in_force():
        return site
    if get_settings().sites is None:
        return _only_site(request)
    if request is None:
        sites = get_sites()
        if len(sites) == 1:
            return sites[0]
        raise ConfigurationError(f"There are {len(sites)} sites: choose one by --site.")
    if not isinstance(get_settings().sites, Mapping):
        return contrib_site(get_settings().scheme, request)
    host = request.get_host().lower()
    for site in get_sites():
        with in_force(site):
            if any(host in it.hosts for it in own_sites(site)):
                return site
    raise Http404("No such site")


def get_sites(request: HttpRequest | None = None) -> list[Site]:
    """Return the site in force, else all of SITES, else the only one.

    With DEBUG, a request has the origin of the only one that has none. With SITE_ID,
    ``contrib.sites`` has that one alone.
    """
    given = get_settings().sites
    if given is None or site_in_force():
        return [get_site(request)]
    if isinstance(given, Mapping):
        return [site_named(name) for name in given]
    scheme, sites = get_settings().scheme, list[Site]()
    if current_id():
        return [contrib_site(scheme)]
    for row in _rows().order_by("pk"):
        try:
            sites.append(_of_row(row, scheme))
        except ConfigurationError as error:  # the others do not wait for it
            logger.error("%s", error, extra={"action": "no_origin"})
    return sites


def sites_of_settings() -> list[Site | None]:
    """Return None, and the sites that may have values of their own; without a query."""
    given, sites = get_settings().sites, list[Site | None]([None])
    for name in given if isinstance(given, Mapping) else ():
        with suppress(ConfigurationError):  # a check reports it
            sites.append(site_named(name))
    return sites


def sample_site() -> Site:
    """Return the site in force, else some site that is known without a query."""
    if site := site_in_force() or sites_of_settings()[-1]:
        return site
    configured = get_settings()
    if configured.sites:
        return Site(current_id() or "1", "")
    with suppress(ConfigurationError):  # a check reports it
        return parse_base_url(configured.base_url or "")
    return Site(DEFAULT_SITE, "")


@until_settings_change
def site_named(name: str) -> Site:
    """Return a site of SITES; raise ConfigurationError if its address is none."""
    given: Any = get_settings().sites
    try:
        where = f"SITES[{name!r}]['BASE_URL']"
        return parse_base_url(given[name]["BASE_URL"], where, name)
    except (KeyError, TypeError) as error:
        words = f"SITES[{name!r}] has no BASE_URL. Give it one: 'https://shop.example'."
        raise ConfigurationError(words) from error


def origin_setting(site: Site) -> str:
    """Return what gives a site its origin, as messages name it."""
    configured = get_settings()
    if isinstance(configured.sites, Mapping):
        with in_force(site):
            return setting_name("BASE_URL")
    has_rows = configured.sites or apps.is_installed("django.contrib.sites")
    if has_rows and not (configured.base_url and not configured.sites):
        return "the domain of its row in django.contrib.sites"
    return setting_name("BASE_URL")


def _only_site(request: HttpRequest | None) -> Site:
    """Return the site of BASE_URL, else of contrib.sites, else of a request."""
    configured = get_settings()
    if configured.base_url:
        return parse_base_url(configured.base_url)
    if apps.is_installed("django.contrib.sites"):
        return replace(contrib_site(configured.scheme), name=DEFAULT_SITE)
    if request is not None and settings.DEBUG:
        return parse_base_url(f"{request.scheme}://{request.get_host()}")
    raise ConfigurationError(
        "Sitemap URLs have no origin. Set SITEMAPS_PLUS['BASE_URL'] to the address "
        "of your site, such as 'https://shop.example', or install "
        "django.contrib.sites."
    )


def site_in(language: str, site: Site) -> Site:
    """Return where a site has the URLs of a language: LANGUAGE_ORIGINS, or the site."""
    return language_sites().get(language, site)


def site_at(url: str, site: Site) -> Site | None:
    """Return the site, or that of a language, on whose origin a URL is, else None."""
    own = [it for it in own_sites(site) if f"{url}/".startswith(f"{it.origin}/")]
    return own[0] if own else None


def own_sites(site: Site) -> list[Site]:
    """Return the site in force, and where it has the URLs of some languages."""
    return [site, *language_sites().values()]


def language_sites() -> dict[str, Site]:
    """Return where URLs of LANGUAGE_ORIGINS are; ConfigurationError if not origins."""
    given: Any = get_settings().language_origins
    name = setting_name("LANGUAGE_ORIGINS")
    if not isinstance(given, Mapping):
        raise ConfigurationError(f"{name} is {given!r}. Write a dict.")
    return {
        code: parse_base_url(origin, f"{name}[{code!r}]")
        for code, origin in given.items()
    }


def notifies_engines() -> bool:
    """Return whether engines are notified of the site in force, or of any site."""
    with suppress(ConfigurationError):  # a check reports it
        sites = get_sites() if get_settings().sites else [site_in_force()]
        return not all(for_each(sites, silence_reason))
    return False


def silence_reason() -> str:
    """Return why engines are not notified of changes of the site; "" if they are."""
    configured = get_settings()
    if not configured.engines and "engines" not in configured.wrong:
        return _("%s is empty") % setting_name("ENGINES")
    if configured.notify is not None:
        name = setting_name("NOTIFY")
        return "" if configured.notify else _("%s is False") % name
    if settings.DEBUG:
        return _("DEBUG is on")
    if is_test_run():
        return _("this is a test run")
    try:
        origin = get_site().origin
    except ConfigurationError as error:  # a check reports it
        return str(error).rstrip(".")
    return "" if is_public(origin) else _("%s is not a public address") % origin


def parse_base_url(
    base_url: str, name: str = "BASE_URL", site: str = DEFAULT_SITE
) -> Site:
    """Return the site of ``https://shop.example/app``, or raise ConfigurationError."""
    try:
        parts = urlsplit(encode_url(base_url))
    except (TypeError, ValueError) as error:
        remedy = "Use scheme and host, such as 'https://shop.example'."
        if isinstance(base_url, str):
            with suppress(ValueError):
                address = _SCHEME.sub("", base_url.strip())
                url = encode_url(f"https://{address}")
                remedy = f"Did you mean {url!r}?"
        raise ConfigurationError(f"{name}: {error}. {remedy}") from error
    if parts.query or parts.fragment:
        raise ConfigurationError(
            f"{name} {base_url!r} has a query or a fragment. Remove it."
        )
    if parts.path.endswith(".xml"):
        raise ConfigurationError(
            f"{name} {base_url!r} is the address of a file. "
            f"Write {base_url.rpartition('/')[0]!r}."
        )
    # As in a request, it is decoded: reverse() encodes it.
    path = settings.FORCE_SCRIPT_NAME or unquote(parts.path)
    prefix = f"/{path.strip('/')}/".replace("//", "/")
    return Site(site, f"{parts.scheme}://{parts.netloc}", prefix)


# The beginning of an address, also where it is misspelt.
_SCHEME = re.compile(r"^(\w+:/+|ht+ps?:|ht+ps?/+|/+)")

# Names that never lead to a public host (RFC 2606, RFC 6761, RFC 6762, RFC 8375).
_PRIVATE = (
    *("test", "example", "invalid", "localhost", "local", "internal", "home.arpa"),
    *("example.com", "example.net", "example.org"),  # the first site of contrib.sites
)


def is_public(origin: str) -> bool:
    """Return whether a search engine might reach an origin, by its name."""
    host = (urlsplit(origin).hostname or "").rstrip(".")
    try:
        return ip_address(host).is_global
    except ValueError:
        return "." in host and not f".{host}".endswith(tuple(f".{n}" for n in _PRIVATE))


def current_id() -> str:
    """Return the name of the site that SITE_ID gives; "" without it."""
    return str(getattr(settings, "SITE_ID", None) or "")


def contrib_site(scheme: str, request: HttpRequest | None = None) -> Site:
    """Return the site that ``django.contrib.sites`` gives by SITE_ID, else by host."""
    rows = _rows()
    host = request.get_host() if request is not None and not current_id() else ""
    if len(host) > MAX_HOST:  # a database may refuse it
        raise Http404("No such site")
    try:
        row = rows.get_current(request)  # which keeps them in memory
    except (ObjectDoesNotExist, ImproperlyConfigured) as error:
        if host:
            raise Http404("No such site") from error
        raise ConfigurationError(
            "django.contrib.sites has no current site. Set SITE_ID to one that "
            "exists, or SITEMAPS_PLUS['BASE_URL']."
        ) from error
    return _of_row(row, scheme)


def django_site(site: Site) -> Any:
    """Return what contrib gives methods of its sitemaps, which may ask for its key.

    A copy of the row of the origin's domain, else of that of SITE_ID, with the domain
    of the origin; what has that domain alone where there is no such row.
    """
    host = site.origin.partition("://")[2]
    asked: Any = SimpleNamespace(get_host=lambda: host)
    if not apps.is_installed("django.contrib.sites"):
        return RequestSite(asked)
    from django.contrib.sites.models import SITE_CACHE

    row: Any = None
    domains = {host, host.encode().decode("idna")}
    if current_id():
        with suppress(ObjectDoesNotExist):
            row = _rows().get_current()  # which keeps it in memory
    if row is None or row.domain.lower() not in domains:
        is_named = reduce(or_, [Q(domain__iexact=domain) for domain in domains])
        known = [SITE_CACHE[domain] for domain in domains & SITE_CACHE.keys()]
        named: Any = known[0] if known else _rows().filter(is_named).first()
        if named is not None and not known:
            SITE_CACHE[named.domain] = named  # as contrib does, until it is saved
        row = named or row
    if row is None:
        return RequestSite(asked)
    row = copy(row)
    row.domain = host
    return row


def _rows() -> Any:
    if not apps.is_installed("django.contrib.sites"):
        raise ConfigurationError(
            "SITES needs django.contrib.sites in INSTALLED_APPS, or write "
            "{'shop': {'BASE_URL': 'https://shop.example'}}."
        )
    from django.contrib.sites.models import Site as DjangoSite

    return DjangoSite.objects


def _of_row(row: Any, scheme: str) -> Site:
    key = str(row.pk)
    return parse_base_url(f"{scheme}://{row.domain}", f"The site {key}", key)
