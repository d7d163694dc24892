"""The setting ``SITEMAPS_PLUS``, which only this module reads, and its site."""

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

    Creating one never raises: a system check reports wrong values.
    """

    base_url: str | None = None  # https://shop.example, or one with a path
    scheme: str = "https"  # of the origin that django.contrib.sites gives
    storage: str | None = None  # alias in STORAGES; None: MEDIA_ROOT/sitemaps
    executor: str = "django_sitemaps_plus.building.pool.LocalExecutor"
    wake_seconds: int = 2  # from a change to the build that it wakes
    lease_seconds: int = 60  # that a builder keeps its pages without a heartbeat
    max_builders: int = 8  # tasks that build at the same time
    task_seconds: int = 60  # after which a task leaves the rest to the next
    public_plain: bool = False  # whether the public tree has uncompressed files too
    prune_seconds: int = 86_400  # that a replaced object is kept
    cache: str = "default"  # alias in CACHES for live plans
    client_cache_seconds: int = 600  # max-age of answers
    plan_seconds: int = 3_600  # that a live plan is kept
    live_max_rows: int = 2_000_000  # rows up to which a section is served unbuilt
    live_cache_seconds: int = 60  # that a live page is kept; 0 for never
    track: bool = True  # whether saves are recorded as changes
    replica_lag_seconds: int = 30  # age of a change before a replica is read for it
    shrink_guard: float = 0.5  # share of a section's entries that may go at once
    max_bad_rows: float = 0.1  # share of rows that need not be listed, from 100 on
    audit_interval_seconds: int = 86_400  # after which a page is compared
    audit_budget_seconds: int = 10  # that a build spends on comparing
    # Who is notified: a name to {"BACKEND": dotted path, "OPTIONS": {...}}.
    engines: Mapping[str, Mapping[str, Any]] = field(default_factory=dict, repr=False)
    notify: bool | None = None  # None: in production, if the origin is public
    notify_delay_seconds: int = 5  # from a change to its first notification
    notify_interval_seconds: int = 600  # between two notifications of one URL
    notify_retry_seconds: float = 5  # after the first failure of an engine
    # None: no robots.txt of ours. {} or {"RULES": ..., "EXTRA": ..., "SITEMAPS": ...}.
    robots: Mapping[str, Any] | None = None
    # Keys that do not exist; None if the setting is not a dict.
    unknown: tuple[str, ...] | None = field(default=(), repr=False)

    @property
    def lease(self) -> timedelta:
        """How long a builder keeps its pages without a heartbeat."""
        return timedelta(seconds=self.lease_seconds)

    @property
    def grace(self) -> timedelta:
        """How long an object is kept after it was replaced."""
        return timedelta(seconds=max(self.prune_seconds, 2 * self.lease_seconds))

    @classmethod
    def keys(cls) -> list[str]:
        """Return the keys of the setting, in order."""
        names = [item.name for item in dataclasses.fields(cls)]
        return [name.upper() for name in names if name != "unknown"]


@cache
def get_settings() -> AppSettings:
    """Return the settings in force; tests may override them."""
    given = getattr(settings, SETTING, {})
    if not isinstance(given, Mapping):
        return AppSettings(unknown=None)
    known = set(AppSettings.keys())
    values: dict[str, Any] = {k.lower(): given[k] for k in known.intersection(given)}
    return AppSettings(**values, unknown=tuple(k for k in given if k not in known))


def notifies_engines(site: Site | None = None) -> bool:
    """Return whether engines are notified of changes of a site, by default the only.

    Unless NOTIFY says so, they are not under DEBUG, in tests, and if the public cannot
    reach the origin.
    """
    configured = get_settings()
    if not configured.engines or configured.notify is not None:
        return bool(configured.engines and configured.notify)
    # Django's test runner, and pytest-django, put the outbox there.
    if settings.DEBUG or hasattr(mail, "outbox"):
        return False
    try:
        return is_public((site or get_site()).origin)
    except ConfigurationError:  # a check reports it
        return False


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


@receiver(setting_changed)
def _clear_settings(*, setting: str, **kwargs: object) -> None:
    if setting == SETTING:
        get_settings.cache_clear()


@dataclass(frozen=True, slots=True)
class Site:
    """One origin with its sections.

    Attributes:
        name: identifies it among the sites of this project.
        origin: scheme, host and port: ``https://shop.example``.
        script_prefix: the path of the project; begins and ends with a slash.
    """

    name: str
    origin: str
    script_prefix: str = "/"


#: The name of the only site.
DEFAULT_SITE = "default"


def get_site(request: HttpRequest | None = None) -> Site:
    """Return the site: BASE_URL, or the current site of ``django.contrib.sites``.

    With neither, it is that of the request, under DEBUG only.

    Raises:
        ConfigurationError: there is no origin, or BASE_URL is not one.
    """
    base_url = get_settings().base_url or _sites_url()
    if base_url is None and request is not None and settings.DEBUG:
        base_url = f"{request.scheme}://{request.get_host()}"
    if base_url is None:
        raise ConfigurationError(
            "Sitemap URLs have no origin. Set SITEMAPS_PLUS['BASE_URL'] to the address "
            "of your site, such as 'https://shop.example', or install "
            "django.contrib.sites."
        )
    return parse_base_url(base_url)


def parse_base_url(base_url: str) -> Site:
    """Return the site of ``https://shop.example/app``, or raise ConfigurationError."""
    try:
        parts = urlsplit(encode_url(base_url))
    except (TypeError, ValueError) as error:
        raise ConfigurationError(
            f"BASE_URL {base_url!r} is not the address of a site: {error}. Use scheme "
            "and host, such as 'https://shop.example'."
        ) from error
    if parts.query or parts.fragment:
        raise ConfigurationError(
            f"BASE_URL {base_url!r} has a query or a fragment. Remove it."
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
