"""The one setting, ``SITEMAPS_PLUS``, and the site that it describes.

No other module reads the setting.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from functools import cache
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

from django.apps import apps
from django.conf import settings
from django.core import mail
from django.core.exceptions import ImproperlyConfigured
from django.core.signals import setting_changed
from django.dispatch import receiver

from .core.locations import encode_url
from .exceptions import ConfigurationError

if TYPE_CHECKING:
    from django.http import HttpRequest

SETTING = "SITEMAPS_PLUS"


@dataclass(frozen=True, slots=True, kw_only=True)
class AppSettings:
    """The values of ``SITEMAPS_PLUS``; a key is its field's name in upper case.

    Making one never raises: a system check reports what is wrong with a value.
    """

    base_url: str | None = (
        None  # https://shop.example, with a path under which it lives
    )
    scheme: str = "https"  # of the origin that contrib.sites names
    storage: str | None = None  # alias in STORAGES; None: files in MEDIA_ROOT/sitemaps
    executor: str = "django_sitemaps_plus.building.pool.LocalExecutor"
    wake_seconds: int = 2  # seconds between a change and the build that it wakes
    lease_seconds: int = 60  # that a builder which says nothing keeps its pages
    max_builders: int = 8  # tasks that build at once for one refresh
    task_seconds: int = 60  # after which a task leaves what is left to the next
    public_plain: bool = False  # whether the public tree has uncompressed files too
    prune_seconds: int = 86_400  # seconds that an object which no row names is kept
    cache: str = "default"  # alias in CACHES for live plans
    client_cache_seconds: int = 600  # seconds that a crawler may keep an answer unasked
    plan_seconds: int = 3_600  # seconds that a live plan is kept
    live_max_rows: int = 2_000_000  # rows up to which a section is served unbuilt
    live_cache_seconds: int = (
        60  # seconds that a page rendered on request is kept; 0 for never
    )
    track: bool = True  # whether saves are recorded as changes
    replica_lag_seconds: int = 30  # age of a change before a replica is read for it
    shrink_guard: float = 0.5  # share of a section's entries that may go at once
    max_bad_rows: float = 0.1  # share of rows that need not be listed, from 100 on
    audit_interval_seconds: int = (
        86_400  # seconds after which a page is compared unasked
    )
    audit_budget_seconds: int = 10  # that a refresh spends on comparing
    # Who is told of changes: a name to {"BACKEND": dotted path, "OPTIONS": {...}}.
    engines: Mapping[str, Mapping[str, Any]] = field(default_factory=dict, repr=False)
    notify: bool | None = None  # tell engines; None: unless under DEBUG, or not public
    notify_delay_seconds: int = 5  # seconds between a change and its first notice
    notify_interval_seconds: int = 600  # seconds between two notices of one URL
    notify_retry_seconds: float = 5  # seconds after the first failure of an engine
    # None: no robots.txt of ours. {} or {"RULES": ..., "EXTRA": ..., "SITEMAPS": ...}.
    robots: Mapping[str, Any] | None = None
    # Keys that we do not know; None where the setting is no dict at all.
    unknown: tuple[str, ...] | None = field(default=(), repr=False)

    @property
    def lease(self) -> timedelta:
        """How long a builder that says nothing keeps its pages."""
        return timedelta(seconds=self.lease_seconds)

    @property
    def grace(self) -> timedelta:
        """How long an object is kept after it was replaced."""
        return timedelta(seconds=max(self.prune_seconds, 2 * self.lease_seconds))

    @classmethod
    def keys(cls) -> list[str]:
        """Return the keys that the setting may have, in order."""
        names = [item.name for item in dataclasses.fields(cls)]
        return [name.upper() for name in names if name != "unknown"]


@cache
def get_settings() -> AppSettings:
    """Return the settings in force; tests may override them as any other."""
    given = getattr(settings, SETTING, {})
    if not isinstance(given, Mapping):
        return AppSettings(unknown=None)
    known = set(AppSettings.keys())
    values: dict[str, Any] = {k.lower(): given[k] for k in known.intersection(given)}
    return AppSettings(**values, unknown=tuple(k for k in given if k not in known))


def tells_engines(site: Site | None = None) -> bool:
    """Return whether engines are told of changes.

    Without NOTIFY they are not under DEBUG, in tests, and of an origin that the public
    cannot reach.

    Args:
        site: the site; by default the one that the settings describe.
    """
    configured = get_settings()
    if not configured.engines or configured.notify is False:
        return False
    if configured.notify:
        return True
    # Django's test runner, and pytest-django, put the outbox there.
    if settings.DEBUG or hasattr(mail, "outbox"):
        return False
    try:
        return is_public((site or get_site()).origin)
    except ConfigurationError:  # a check says so
        return False


# Names that never lead to a public host (RFC 2606, RFC 6761, RFC 6762, RFC 8375).
_PRIVATE = (
    *("test", "example", "invalid", "localhost", "local", "internal", "home.arpa"),
    *("example.com", "example.net", "example.org"),  # the first site of contrib.sites
)


def is_public(origin: str) -> bool:
    """Return whether an origin is one that a search engine might reach, by its name."""
    host = (urlsplit(origin).hostname or "").rstrip(".")
    try:
        return ip_address(host).is_global
    except ValueError:
        return "." in host and not f".{host}".endswith(tuple(f".{n}" for n in _PRIVATE))


@receiver(setting_changed)
def _clear_settings(*, setting: str, **kwargs: object) -> None:
    if setting == SETTING:
        get_settings.cache_clear()


@dataclass(frozen=True, slots=True)
class Site:
    """One origin with its sections.

    Attributes:
        name: what tells it from other sites of this project.
        origin: scheme, host and port: ``https://shop.example``.
        script_prefix: the path under which the project lives; begins and ends with
            a slash.
    """

    name: str
    origin: str
    script_prefix: str = "/"


#: The name of the only site, as long as the settings name no others.
DEFAULT_SITE = "default"


def get_site(request: HttpRequest | None = None) -> Site:
    """Return the site that sitemaps are made for.

    Its origin is BASE_URL or the current site of ``django.contrib.sites``. With
    neither, that of the request, under DEBUG only.

    Raises:
        ConfigurationError: there is no origin, or BASE_URL is none.
    """
    base_url = get_settings().base_url or _sites_url()
    if base_url is None and request is not None and settings.DEBUG:
        base_url = f"{request.scheme}://{request.get_host()}"
    if base_url is None:
        raise ConfigurationError(
            "No origin for sitemap URLs. Set SITEMAPS_PLUS['BASE_URL'] to the address "
            "of your site, such as 'https://shop.example', or install "
            "django.contrib.sites."
        )
    return parse_base_url(base_url)


def parse_base_url(base_url: str) -> Site:
    """Return the site of an address such as ``https://shop.example/app``.

    Raises:
        ConfigurationError: it is no absolute http(s) URL, or has a query or fragment.
    """
    try:
        parts = urlsplit(encode_url(base_url))
    except (TypeError, ValueError) as error:
        raise ConfigurationError(
            f"BASE_URL {base_url!r} is no address of a site: {error}. Give scheme and "
            "host, such as 'https://shop.example'."
        ) from error
    if parts.query or parts.fragment:
        raise ConfigurationError(
            f"BASE_URL {base_url!r} has a query or a fragment. Leave it out."
        )
    # As in a request, it is decoded: reverse() encodes it.
    path = settings.FORCE_SCRIPT_NAME or unquote(parts.path)
    prefix = f"/{path.strip('/')}/".replace("//", "/")
    return Site(DEFAULT_SITE, f"{parts.scheme}://{parts.netloc}", prefix)


def _sites_url() -> str | None:
    if not apps.is_installed("django.contrib.sites"):
        return None
    from django.contrib.sites.models import Site as DjangoSite

    try:
        domain = DjangoSite.objects.get_current().domain
    except (DjangoSite.DoesNotExist, ImproperlyConfigured) as error:
        raise ConfigurationError(
            "django.contrib.sites has no current site. Set SITE_ID to one that "
            "exists, or SITEMAPS_PLUS['BASE_URL']."
        ) from error
    return f"{get_settings().scheme}://{domain}"
