"""The setting ``SITEMAPS_PLUS``, read only here, and the site in force."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, fields
from datetime import timedelta
from decimal import Decimal
from functools import cache
from typing import Any, TypeVar
from urllib.parse import urlsplit

from django.conf import settings
from django.core.signals import setting_changed
from django.dispatch import receiver

from .core import limits

T = TypeVar("T")

SETTING = "SITEMAPS_PLUS"

#: Keys of a site of SITES: its address, and values in the place of those of all.
SITE_KEYS = ("BASE_URL", "ENGINES", "LANGUAGE_ORIGINS", "NOTIFY", "ROBOTS")

#: The name of the only site, where SITES is not set.
DEFAULT_SITE = "default"

_NUMBER = int | float | Decimal

# The kinds of values, by the name or else the type of a field: the type of its values,
# how they are told to people, and which of them work.
_KINDS: dict[str, tuple[Any, str, Callable[[Any], bool]]] = {
    "int": (int, "a whole number, 0 or more", lambda n: n >= 0),
    "max_builders": (int, "a whole number, 1 or more", lambda n: n >= 1),
    "lease_seconds": (int, "a whole number, 2 or more", lambda n: n >= 2),
    "float": (_NUMBER, "a share, from 0 to 1", lambda n: 0 <= n <= 1),
    "notify_retry_seconds": (_NUMBER, "a number above 0", lambda n: n > 0),
    "bool": (bool, "True or False", lambda _: True),
    "str": (str, "a string", lambda _: True),
    "scheme": (str, "'http' or 'https'", ("http", "https").__contains__),
    "engines": (Mapping, "a dict", lambda _: True),
}


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


@dataclass(frozen=True, slots=True, kw_only=True)
class AppSettings:
    """The values of ``SITEMAPS_PLUS``, defaults for wrong types; keys in lower case."""

    base_url: str | None = None  # https://shop.example, or one with a path
    # A name to {"BASE_URL": ...} for each of several sites; or "contrib.sites".
    sites: Mapping[str, Mapping[str, Any]] | str | None = None
    language_origins: Mapping[str, str] = field(default_factory=dict)  # by language
    scheme: str = "https"  # of the origin that django.contrib.sites gives
    contrib_sitemaps: str | None = None  # dotted path of a dict of contrib's sitemaps
    storage: str | None = None  # alias in STORAGES; None: MEDIA_ROOT/sitemaps
    executor: str = "django_sitemaps_plus.building.pool.LocalExecutor"
    tasks_alias: str = "default"  # alias in TASKS, for the executor of Django's Tasks
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
    live_cache_seconds: int | None = None  # that a live page is kept; 0 for never
    track: bool | None = None  # whether saves are recorded; None: not in test runs
    deploy_seconds: int = 600  # in which processes of an earlier version end
    replica_lag_seconds: int = 30  # age of a change before a replica is read for it
    shrink_guard: float = 0.5  # share of a section's entries that may go at once
    max_bad_rows: float = 0.1  # share of rows that need not be listed, from 100 on
    audit_interval_seconds: int = 86_400  # after which a page is compared
    audit_budget_seconds: int = 10  # that a build spends on comparing
    # The engines to notify: a name to {"BACKEND": dotted path, "OPTIONS": {...}}.
    engines: Mapping[str, Mapping[str, Any]] = field(default_factory=dict, repr=False)
    notify: bool | None = None  # None: in production, if the origin is public
    notify_delay_seconds: int = 5  # from a change to its first notification
    notify_interval_seconds: int = 600  # between two notifications of one URL
    notify_retry_seconds: float = 5  # after the first failure of an engine
    # None: no robots.txt of ours. {} or {"RULES": ..., "EXTRA": ..., "SITEMAPS": ...}.
    robots: Mapping[str, Any] | None = None
    historic_limits: bool = False  # 10,485,760 bytes a page, 1,000 pages an index
    # The stylesheet of sitemaps in browsers: a static file, or a URL; None for none.
    stylesheet: str | None = "sitemaps_plus/sitemap.css"
    # The secret by which monitors may see how sites are; None for staff alone.
    monitoring_token: str | None = field(default=None, repr=False)
    # Keys that do not exist; None if the setting is not a dict.
    unknown: tuple[str, ...] | None = field(default=(), repr=False)
    # By name: that a value, which may be a secret one, cannot be right, and why.
    wrong: Mapping[str, str] = field(default_factory=dict, repr=False)

    @property
    def lease(self) -> timedelta:
        """How long a builder keeps its pages without a heartbeat."""
        return timedelta(seconds=self.lease_seconds)

    @property
    def deploy_time(self) -> timedelta:
        """How long processes of two versions may be at work at once."""
        return timedelta(seconds=self.deploy_seconds)

    @property
    def live_cache(self) -> int:
        """Seconds for which a live page is kept; developers see each change at once."""
        if self.live_cache_seconds is not None:
            return self.live_cache_seconds
        return 0 if settings.DEBUG or is_test_run() else 60

    @property
    def grace(self) -> timedelta:
        """How long an object is kept after it was replaced."""
        return timedelta(seconds=max(self.prune_seconds, 2 * self.lease_seconds))

    @property
    def max_bytes(self) -> int:
        """Uncompressed bytes that one file may have."""
        return limits.HISTORIC_BYTES if self.historic_limits else limits.MAX_BYTES

    @property
    def max_sitemaps(self) -> int:
        """Sitemaps that one index may list."""
        return limits.HISTORIC_SITEMAPS if self.historic_limits else limits.MAX_ENTRIES

    @classmethod
    def keys(cls) -> list[str]:
        """Return the keys of the setting, in order."""
        own = ("unknown", "wrong")
        return [it.name.upper() for it in fields(cls) if it.name not in own]


def until_settings_change(function: Callable[..., T]) -> Callable[..., T]:
    """Keep what a function returns until the settings change."""
    cached = cache(function)

    @receiver(setting_changed, weak=False)
    def clear(*, setting: str, **kwargs: object) -> None:
        if setting in (SETTING, "FORCE_SCRIPT_NAME"):
            cached.cache_clear()

    return cached


def get_settings() -> AppSettings:
    """Return the settings in force, of the site in force; tests may override them."""
    return _settings_of(settings_name())


def settings_name() -> str:
    """Return the name of the site in force if it has values of its own, else ""."""
    site, given = site_in_force(), _settings_of("").sites
    if site is None or not isinstance(given, Mapping) or site.name not in given:
        return ""
    return site.name


def setting_name(key: str) -> str:
    """Return the setting that decides for the site in force, as messages name it.

    Where nobody has set it yet, that is the one of the site.
    """
    given, site = getattr(settings, SETTING, {}), settings_name()
    own = given["SITES"][site] if site else ()
    if site and (key in (own or ()) or key not in given or key == "BASE_URL"):
        return f"{SETTING}['SITES'][{site!r}][{key!r}]"
    return f"{SETTING}[{key!r}]"


@until_settings_change
def _settings_of(site: str) -> AppSettings:
    given = getattr(settings, SETTING, {})
    if not isinstance(given, Mapping):
        return AppSettings(unknown=None)
    known = set(AppSettings.keys())
    values: dict[str, Any] = {k.lower(): given[k] for k in known.intersection(given)}
    if site and isinstance(own := given["SITES"][site], Mapping):
        values |= {k.lower(): own[k] for k in SITE_KEYS if k in own}
    wrong = dict[str, str]()
    for item in [it for it in fields(AppSettings) if it.name in values]:
        name, kind, value = item.name, str(item.type), values[item.name]
        own = _KINDS.get(name) or _KINDS.get(kind.removesuffix(" | None"))
        if own is None or (value is None and "None" in kind):
            continue
        type_, form, works = own
        fits = isinstance(value, type_) and isinstance(value, bool) <= (type_ is bool)
        if not (fits and works(value)):
            wrong[name] = f"is {value!r}: it must be {form}."
            # A wrong origin or storage fails where it is used: no other is meant.
            if not fits and (kind, item.default) != ("str | None", None):
                del values[name]
    unknown = tuple(k for k in given if k not in known)
    return AppSettings(**values, unknown=unknown, wrong=wrong)


def is_test_run() -> bool:
    """Return whether Django's test runner, or pytest-django, is at work."""
    state = getattr(sys.modules.get("django.test.utils"), "_TestState", None)
    return hasattr(state, "saved_data")


def is_tracking() -> bool:
    """Return whether saves are recorded; unless TRACK says so, not in test runs."""
    track = get_settings().track
    return not is_test_run() if track is None else track


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


def site_in_force() -> Site | None:
    """Return the site that all is done for at present; None where that is not known."""
    return _in_force.get()
