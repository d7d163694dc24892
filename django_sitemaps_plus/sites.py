"""Sites: one origin each with its sections, and which of them is in force."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from copy import copy
from dataclasses import dataclass
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

from .core.locations import encode_url
from .exceptions import ConfigurationError, SitemapsPlusError
from .outages import in_one_line

T = TypeVar("T")

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Site:
    """An origin with its sections.

    Attributes:
        name: identifies it among the sites of this project; of ``django.contrib.sites``
            the primary key, as text.
        origin: scheme, host and port: ``https://shop.example``.
        script_prefix: the path of the project; begins and ends with a slash.
    """

    name: str
    origin: str
    script_prefix: str = "/"

    @property
    def hosts(self) -> tuple[str, str]:
        """Its host as requests name it, without and with the port of the scheme."""
        scheme, host = urlsplit(self.origin)[:2]
        return host, f"{host}:{443 if scheme == 'https' else 80}"


#: Characters of a domain and its port, at most.
MAX_HOST = 253 + len(":65535")

#: The name of the only site, where SITES is not set.
DEFAULT_SITE = "default"


_in_force: ContextVar[Site | None] = ContextVar("site", default=None)


@contextmanager
def in_force(site: Site | None) -> Iterator[None]:
    """Let all that is done meanwhile be for one site; for none of them with None.

    The registry then has the sections of that site only.
    """
    token = _in_force.set(site)
    try:
        yield
    finally:
        _in_force.reset(token)


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


def site_in_force() -> Site | None:
    """Return the site that all is done for at present; None where that is not known."""
    return _in_force.get()


def parse_base_url(
    base_url: str, name: str = "BASE_URL", site: str = DEFAULT_SITE
) -> Site:
    """Return the site of ``https://shop.example/app``, or raise ConfigurationError."""
    try:
        parts = urlsplit(encode_url(base_url))
    except (TypeError, ValueError) as error:
        remedy = "Use scheme and host, such as 'https://shop.example'."
        if isinstance(base_url, str) and ":/" not in base_url:
            with suppress(ValueError):
                url = encode_url("https://" + base_url.lstrip("/"))
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


def all_contrib_sites(scheme: str) -> list[Site]:
    """Return the site of SITE_ID; without it, all of ``django.contrib.sites``.

    But for those whose domain is none: the others do not wait for its correction.
    """
    if current_id():
        return [contrib_site(scheme)]
    sites = []
    for row in _rows().order_by("pk"):
        try:
            sites.append(_of_row(row, scheme))
        except ConfigurationError as error:
            logger.error("%s", error, extra={"action": "no_origin"})
    return sites


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
