"""The robots.txt of a site: what the setting ROBOTS says, and every index.

A crawler that gets a 5xx fetches nothing at all (RFC 9309, 2.3.1.4), so nothing here
raises: what cannot be used is left out, and the log says so.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from django.core.exceptions import SuspiciousOperation
from django.http import Http404, HttpRequest
from django.urls import NoReverseMatch

from django_sitemaps_plus.conf import (
    Site,
    get_settings,
    setting_name,
    settings_name,
    until_settings_change,
)
from django_sitemaps_plus.core import robots
from django_sitemaps_plus.core.suggestions import suggest
from django_sitemaps_plus.exceptions import ConfigurationError
from django_sitemaps_plus.models.base import contained
from django_sitemaps_plus.outages import in_one_line
from django_sitemaps_plus.site_urls import index_url, index_urls
from django_sitemaps_plus.sites import get_site

logger = logging.getLogger(__name__)

#: Keys of the setting, and of each of its RULES.
KEYS = ("RULES", "EXTRA", "SITEMAPS")
RULE_KEYS = ("USER_AGENT", "ALLOW", "DISALLOW", "CRAWL_DELAY")

#: The indexes of each site when its rows could be read last; those of the only site
#: also under None.
_last: dict[Site | None, list[str]] = {}


def render_site_robots(request: HttpRequest | None = None) -> bytes:
    """Render the robots.txt of the site in force."""
    records = robots_records()
    return robots.render_robots(records.groups, records.extra, sitemap_urls(request))


def sitemap_urls(request: HttpRequest | None = None) -> list[str]:
    """Return the URLs of all Sitemap lines: the site's indexes, then other hosts'.

    Where rows cannot be read, the indexes are those named last, or the first one.
    """
    site, own = None, list[str]()
    try:
        site = get_site(request)
        with contained():
            own = _last[site] = index_urls(site)
        if get_settings().sites is None:
            _last[None] = own
    except (Http404, SuspiciousOperation):
        raise  # the request is for none of several sites
    except ConfigurationError as error:
        logger.error("No index can be named: %s", error, extra={"action": "no_origin"})
    except Exception as error:  # noqa: BLE001 - whatever a database or its router does
        action = {"action": "rows_failed"}
        logger.error("Indexes cannot be read: %s", in_one_line(error), extra=action)
        own = _last.get(site, [])
        if site is not None and site not in _last:
            with suppress(NoReverseMatch):
                own = [index_url(site)]
    return list(dict.fromkeys([*own, *robots_records().sitemaps]))


@dataclass(frozen=True, slots=True)
class Records:
    """The setting ROBOTS, as far as it can be used."""

    groups: tuple[robots.Group, ...]  # one at least
    extra: tuple[str, ...]  # other lines
    sitemaps: tuple[str, ...]  # URLs on other hosts
    faults: tuple[str, ...]  # what cannot be used, and why


def robots_records() -> Records:
    """Return the records of the settings in force."""
    return _records(settings_name())


@until_settings_change
def _records(site: str) -> Records:
    given, reader = get_settings().robots, _Reader()
    where = setting_name("ROBOTS")
    values = reader.keys(where, {} if given is None else given, KEYS)
    groups = []
    for number, rule in enumerate(_listed(values.get("RULES", ()))):
        place = f"{where}['RULES'][{number}]"
        own = {"USER_AGENT": "*", **reader.keys(place, rule, RULE_KEYS)}
        agents = reader.each(place, own, "USER_AGENT", robots.agent)
        if not agents:
            fault = f"{place}: it names no crawler that could follow it"
            reader.faults.append(fault)
        elif isinstance(rule, Mapping):
            delays = reader.each(place, own, "CRAWL_DELAY", robots.delay_text)
            group = robots.Group(
                agents=agents,
                allow=reader.each(place, own, "ALLOW", robots.path_pattern),
                disallow=reader.each(place, own, "DISALLOW", robots.path_pattern),
                crawl_delay=next(iter(delays), None),
            )
            groups.append(group)

    extra = reader.each(where, values, "EXTRA", robots.extra_line)
    sitemaps = reader.each(where, values, "SITEMAPS", robots.sitemap_url)
    for fault in reader.faults:
        logger.error("%s", fault, extra={"action": "robots_fault"})
    usable = tuple(groups) or (robots.Group(),)
    return Records(usable, extra, sitemaps, tuple(reader.faults))


class _Reader:
    """Reads the setting, and notes what is wrong with it."""

    def __init__(self) -> None:
        self.faults: list[str] = []

    def keys(self, place: str, given: Any, known: tuple[str, ...]) -> dict[str, Any]:
        """Return the known keys that are set."""
        if not isinstance(given, Mapping):
            self.faults.append(f"{place}: {given!r:.200} is not a dict")
            return {}
        for key in given:
            if key not in known:
                those = f"Known: {', '.join(known)}"
                hint = suggest(str(key).upper(), known, those)
                self.faults.append(f"{place}: unknown key {key!r:.200} ({hint})")
        return {key: given[key] for key in known if given.get(key) is not None}

    def each(
        self,
        place: str,
        values: Mapping[str, Any],
        key: str,
        clean: Callable[[Any], Any],
    ) -> tuple[Any, ...]:
        """Return the values of a key that can be used."""
        usable = []
        for value in _listed(values.get(key, ())):
            try:
                usable.append(clean(value))
            except (TypeError, ValueError) as error:
                self.faults.append(f"{place}[{key!r}]: {error}")
        return tuple(usable)


def _listed(value: Any) -> Iterable[Any]:
    return value if isinstance(value, list | tuple) else [value]
