"""Checks of SITES, and of the sites that sources name."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from functools import wraps
from typing import Any

from django.apps import apps
from django.core.checks import CheckMessage

from django_sitemaps_plus.conf import (
    DEFAULT_SITE,
    SETTING,
    SITE_KEYS,
    get_settings,
    own_sites,
    site_named,
    sites_of_settings,
)
from django_sitemaps_plus.core.suggestions import suggest
from django_sitemaps_plus.exceptions import ConfigurationError
from django_sitemaps_plus.registry import registry
from django_sitemaps_plus.sites import hosts_of, in_force

from .examining import error, reason_and_remedy

_SITES = f"{SETTING}['SITES']"
_OF_CONTRIB = "contrib.sites"
_FORM = "Write {'shop': {'BASE_URL': 'https://shop.example'}}, or 'contrib.sites'."

# It becomes the name of a directory.
_NAME = re.compile(r"[a-z0-9_-]{1,64}")

Check = Callable[..., list[CheckMessage]]


def for_each_site(check: Check) -> Check:
    """Let a check look at the settings of each site; each message comes once."""

    @wraps(check)
    def run(**kwargs: Any) -> list[CheckMessage]:
        found: list[CheckMessage] = []
        for site in sites_of_settings():
            with in_force(site):
                found += [it for it in check(**kwargs) if it not in found]
        return found

    return run


def check_sites(**kwargs: Any) -> list[CheckMessage]:
    """Return what is wrong with SITES, without a query."""
    with in_force(None):  # a site has a BASE_URL of its own
        given = get_settings().sites
        return [*_faults(given), *_of_sources(given)]


def _faults(given: Any) -> Iterator[CheckMessage]:
    if given is None:
        return
    if isinstance(given, Mapping) and given:
        hosts = Counter[str]()
        for name, values in given.items():
            yield from _of_site(name, values, hosts)
        for host in [host for host, number in hosts.items() if number > 1]:
            message = f"{_SITES} has several sites of {host}."
            yield error(61, message, "A request's host chooses one: give each its own.")
    elif given != _OF_CONTRIB:
        yield error(60, f"{_SITES} is {given!r}, which names no sites.", _FORM)
    elif not apps.is_installed("django.contrib.sites"):
        message = f"{_SITES} is {given!r}, which is not installed."
        yield error(60, message, "Add 'django.contrib.sites' to INSTALLED_APPS.")


def _of_site(name: Any, values: Any, hosts: Counter[str]) -> Iterator[CheckMessage]:
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        message = f"{name!r} cannot name a site in {_SITES}."
        yield error(60, message, "Use 1 to 64 of a-z, 0-9, '_' and '-'.")
    try:
        site = site_named(name)
    except ConfigurationError as fault:
        yield error(60, *reason_and_remedy(fault))
        return
    for key in values.keys() - {*SITE_KEYS}:
        hint = suggest(str(key).upper(), SITE_KEYS, f"Keys: {', '.join(SITE_KEYS)}.")
        yield error(60, f"{_SITES}[{name!r}] has an unknown key {key!r}.", hint)
    # Another check says what is wrong with LANGUAGE_ORIGINS.
    with in_force(site), suppress(ConfigurationError):
        hosts.update({hosts_of(it)[0] for it in own_sites(site)})


def _of_sources(given: Any) -> Iterator[CheckMessage]:
    known = list(given) if isinstance(given, Mapping) else [DEFAULT_SITE]
    for name, source in registry.items():
        sites: Any = source.sites
        if not isinstance(sites, list | tuple | set | frozenset | None):
            message = f"Section {name!r}: sites is {sites!r}, which is not a list."
            yield error(62, message, f"Write sites = [{sites!r}].")
        elif given != _OF_CONTRIB:  # whose rows need a query
            for site in [it for it in sites or () if str(it) not in known]:
                message = f"Section {name!r}: sites names {site!r}, which SITES lacks."
                yield error(62, message, suggest(str(site), known, f"Known: {known}."))
