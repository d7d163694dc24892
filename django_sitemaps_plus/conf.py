"""The setting ``SITEMAPS_PLUS``, which only this module reads, and its site."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, fields, replace
from datetime import timedelta
from functools import cache
from typing import Any, TypeVar

from django.apps import apps
from django.conf import settings
from django.core.signals import setting_changed
from django.dispatch import receiver
from django.http import Http404, HttpRequest

from .core import limits
from .exceptions import ConfigurationError
from .sites import DEFAULT_SITE as DEFAULT_SITE
from .sites import Site as Site
from .sites import (
    all_contrib_sites,
    contrib_site,
    current_id,
    for_each,
    in_force,
    site_in_force,
)
from .sites import is_public as is_public
from .sites import parse_base_url as parse_base_url

T = TypeVar("T")

SETTING = "SITEMAPS_PLUS"

#: Keys of a site of SITES: its address, and values in the place of those of all.
SITE_KEYS = ("BASE_URL", "ENGINES", "LANGUAGE_ORIGINS", "NOTIFY", "ROBOTS")


@dataclass(frozen=True, slots=True, kw_only=True)
class AppSettings:
    """The values of ``SITEMAPS_PLUS``, also wrong ones; its keys are in lower case."""

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
        return [it.name.upper() for it in fields(cls) if it.name != "unknown"]


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


@until_settings_change
def _settings_of(site: str) -> AppSettings:
    given = getattr(settings, SETTING, {})
    if not isinstance(given, Mapping):
        return AppSettings(unknown=None)
    known = set(AppSettings.keys())
    values: dict[str, Any] = {k.lower(): given[k] for k in known.intersection(given)}
    if site and isinstance(own := given["SITES"][site], Mapping):
        values |= {k.lower(): own[k] for k in SITE_KEYS if k in own}
    return AppSettings(**values, unknown=tuple(k for k in given if k not in known))


def is_test_run() -> bool:
    """Return whether Django's test runner, or pytest-django, is at work."""
    state = getattr(sys.modules.get("django.test.utils"), "_TestState", None)
    return hasattr(state, "saved_data")


def is_tracking() -> bool:
    """Return whether saves are recorded; unless TRACK says so, not in test runs."""
    track = get_settings().track
    return not is_test_run() if track is None else track


def notifies_engines() -> bool:
    """Return whether engines are notified of the site in force, or of any site."""
    with suppress(ConfigurationError):  # a check reports it
        sites = get_sites() if get_settings().sites else [site_in_force()]
        return not all(for_each(sites, silence_reason))
    return False


def silence_reason() -> str:
    """Return why engines are not notified of changes of the site; "" if they are."""
    configured = get_settings()
    if not configured.engines:
        return f"{SETTING}['ENGINES'] is empty"
    if configured.notify is not None:
        return "" if configured.notify else f"{SETTING}['NOTIFY'] is False"
    if settings.DEBUG:
        return "DEBUG is on"
    if is_test_run():
        return "this is a test run"
    try:
        origin = get_site().origin
    except ConfigurationError as error:  # a check reports it
        return str(error).rstrip(".")
    return "" if is_public(origin) else f"{origin} is not a public address"


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

    With DEBUG, a request has the origin of the only one that has none.
    """
    given = get_settings().sites
    if given is None or site_in_force():
        return [get_site(request)]
    if isinstance(given, Mapping):
        return [site_named(name) for name in given]
    return all_contrib_sites(get_settings().scheme)


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
        return f"SITEMAPS_PLUS['SITES'][{site.name!r}]['BASE_URL']"
    has_rows = configured.sites or apps.is_installed("django.contrib.sites")
    if has_rows and not (configured.base_url and not configured.sites):
        return "the domain of its row in django.contrib.sites"
    return "SITEMAPS_PLUS['BASE_URL']"


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
    if not isinstance(given, Mapping):
        raise ConfigurationError(f"LANGUAGE_ORIGINS is {given!r}. Write a dict.")
    return {
        code: parse_base_url(origin, f"LANGUAGE_ORIGINS[{code!r}]")
        for code, origin in given.items()
    }
