"""Checks of the setting SITEMAPS_PLUS, of what it names, and of sites."""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from difflib import SequenceMatcher
from typing import Any

from django.apps import apps
from django.conf import settings
from django.core.checks import CheckMessage
from django.db import Error, router
from django.utils.translation import override

from django_sitemaps_plus import adoption, conf, sites
from django_sitemaps_plus.cache import is_shared
from django_sitemaps_plus.conf import (
    SETTING,
    AppSettings,
    get_settings,
    in_force,
    is_test_run,
)
from django_sitemaps_plus.core.suggestions import suggest
from django_sitemaps_plus.diagnostics.configuration import settings_faults
from django_sitemaps_plus.exceptions import ConfigurationError
from django_sitemaps_plus.executors.base import get_executor
from django_sitemaps_plus.monitoring import is_token
from django_sitemaps_plus.registry import registry
from django_sitemaps_plus.sites import current_id
from django_sitemaps_plus.storage import get_storage

from .crawlers import are_included, has_only_views_of_contrib
from .examining import (
    Faults,
    error,
    examined,
    examining,
    for_each_site,
    is_of_project,
    reason_and_remedy,
    unexamined,
    warning,
)

_SITES = f"{SETTING}['SITES']"
_OF_CONTRIB = "contrib.sites"
_FORM = "Write {'shop': {'BASE_URL': 'https://shop.example'}}, or 'contrib.sites'."

# Settings are compared by their letters alone.
_PLAIN = SETTING.replace("_", "")
_ALIKE = 0.85
_KEY_AS_NAME = re.compile("^SITEMAPS?_?PLUS_")

# Names of sites become names of directories.
_NAME = re.compile(r"[a-z0-9_-]{1,64}")


@for_each_site
@examining("the settings")
def check_settings(**kwargs: Any) -> Faults:
    """Yield what is wrong with the setting."""
    makes_files = not has_only_views_of_contrib()
    yield from examined(_values(), "the settings")
    yield from examined(_cache(), "the settings")
    yield from examined(_executor(), "the settings")
    token = get_settings().monitoring_token
    if token not in (None, "") and not is_token(token):  # an environment may lack it
        yield _unusable_token()
    if not makes_files:
        return
    yield from examined(_storage(), "the settings")

    is_wanted = len(registry) or are_included()  # else views of others may call ours
    if not is_wanted or _has_own_origin() or _has_current_site():
        return
    hint = f"Set {SETTING}['BASE_URL'] to the address of your site, such as "
    hint += "'https://shop.example', or SITE_ID of django.contrib.sites."
    if settings.DEBUG and not apps.is_installed("django.contrib.sites"):
        message = "Sitemaps have no origin. DEBUG is on, so the request's host is used."
        yield warning(1, message, hint)
    else:
        yield error(3, "Sitemaps have no origin, so URLs cannot be written.", hint)


def _values() -> Faults:
    """Yield unknown keys, and values that cannot be right wherever it runs."""
    configured = get_settings()
    yield from _misnamed(AppSettings.keys())
    for fault in settings_faults():
        if not fault.engine and fault.number != 8:  # others report these
            yield error(fault.number, fault.message, fault.remedy)
    try:
        if isinstance(configured.base_url, str):
            sites.parse_base_url(configured.base_url)
    except ConfigurationError as fault:
        yield error(2, *reason_and_remedy(fault))
    codes: Iterable[str] = ()
    try:
        codes = sites.language_sites()
    except ConfigurationError as fault:
        yield error(2, *reason_and_remedy(fault))
    languages = dict(settings.LANGUAGES)
    for code in [code for code in codes if code not in languages]:
        name = conf.setting_name("LANGUAGE_ORIGINS")
        message = f"{name} names {code!r}, which LANGUAGES lacks."
        yield error(53, message, f"Choose from {', '.join(map(repr, languages))}.")


def _misnamed(known: Collection[str]) -> Faults:
    """Yield settings of the project that look like this one, and that nothing reads."""
    given: Any = getattr(settings, SETTING, ())
    given = given if isinstance(given, Mapping) else ()
    module = vars(sys.modules.get(settings.SETTINGS_MODULE or "", settings))
    dicts = [name for name, value in module.items() if isinstance(value, dict)]
    for name in sorted({*filter(str.isupper, dir(settings)), *dicts} - {SETTING}):
        plain, hint = name.upper().removeprefix("DJANGO_"), ""
        key = _KEY_AS_NAME.sub("", plain)
        if key != plain:  # else the setting may be made of it
            if key in known and key not in given:
                hint = f"Write it into the dict, as {SETTING} = {{{key!r}: ...}}."
        elif SequenceMatcher(None, plain.replace("_", ""), _PLAIN).ratio() > _ALIKE:
            hint = f"{'Move its keys' if given else 'Rename it'} to {SETTING}."
        if hint:
            yield warning(55, f"The setting {name} has no effect.", hint)


def _unusable_token() -> CheckMessage:
    message = f"{SETTING}['MONITORING_TOKEN'] is not a secret that can be used."
    hint = "Use at least 16 letters and digits, such as secrets.token_urlsafe()."
    return error(63, message, hint)


def check_token(**kwargs: Any) -> list[CheckMessage]:
    """Return a message if the secret of monitors is empty in this environment."""
    return [_unusable_token()] if get_settings().monitoring_token == "" else []


@for_each_site
@examining("the sites")
def check_public_origin(**kwargs: Any) -> Faults:
    """Yield a message if a deployed site names an address that is not public."""
    # Without BASE_URL another check asks the database; others report wrong addresses.
    if get_settings().base_url:
        with suppress(ConfigurationError):
            own, *others = sites.own_sites(sites.get_site())
            yield from _not_public(own.origin, sites.origin_setting(own))
            for site in others:
                name = conf.setting_name("LANGUAGE_ORIGINS")
                yield from _not_public(site.origin, name)


def _not_public(origin: str, name: str) -> list[CheckMessage]:
    if settings.DEBUG or sites.is_public(origin):
        return []
    message = f"Sitemaps have the origin {origin!r}, which crawlers cannot reach."
    return [warning(35, message, f"Set {name} to the public address of your site.")]


@examining("the current site")
def check_current_site(
    databases: Collection[str] | None = None, **kwargs: Any
) -> Faults:
    """Yield what is wrong with the site in the database that gives the origin."""
    is_given = _has_own_origin() or has_only_views_of_contrib()
    if is_given or not _has_current_site():
        return
    from django.contrib.sites.models import Site

    if router.db_for_read(Site) not in (databases or ()):
        return
    try:
        site = sites.get_site()
        yield from _not_public(site.origin, sites.origin_setting(site))
    except ConfigurationError as fault:
        hint = "The admin and the shell can add and change sites."
        yield warning(23, f"Sitemaps have no origin. {fault}", hint)
    except Error:  # not migrated yet
        return


def _has_own_origin() -> bool:
    return bool(get_settings().base_url) or get_settings().sites is not None


def _has_current_site() -> bool:
    return apps.is_installed("django.contrib.sites") and bool(current_id())


def _storage() -> Faults:
    alias = get_settings().storage
    compresses = False
    with suppress(Exception):  # a build says what else is wrong
        try:
            compresses = bool(getattr(get_storage(), "gzip", False))
        except ConfigurationError as fault:
            # Live sitemaps need none, and its library may be where builds are alone.
            if alias is None or alias in settings.STORAGES:
                yield warning(4, *reason_and_remedy(fault))
            elif isinstance(alias, str):
                yield error(4, *reason_and_remedy(fault))
    if compresses:
        message = f"The storage {alias!r} compresses files by itself (option gzip), so "
        message += "views do not read what was stored."
        hint = "Define another alias in STORAGES for sitemaps, without that option."
        yield error(9, message, hint)


def _cache() -> Faults:
    alias, executor = get_settings().cache, get_settings().executor
    if settings.DEBUG or is_test_run() or executor == AppSettings().executor:
        return
    if not is_shared():
        message = f"The cache {alias!r} belongs to one process. Each process makes its "
        message += "own live plans, and does not know which files others found damaged."
        hint = "Use a cache that processes share: Redis, or Django's database cache."
        yield warning(2, message, hint)


def _executor() -> Faults:
    try:
        executor = get_executor()
    except ConfigurationError as fault:
        cause = fault.__cause__
        if cause and not isinstance(cause, ImportError) and is_of_project(cause):
            yield unexamined(f"{type(cause).__name__}: {cause}", "EXECUTOR")
            return
        yield error(8, *reason_and_remedy(fault))
    else:
        faults = (warning(10, *fault) for fault in executor.faults())
        with override("en"):  # as all checks are
            yield from [*examined(faults, "EXECUTOR")]


@examining("CONTRIB_SITEMAPS")
def check_adopted(**kwargs: Any) -> Faults:
    """Yield what of the dict that CONTRIB_SITEMAPS names is not served."""
    len(registry)  # which adopts them
    if registry.unread is not None:
        raise registry.unread
    for fault in adoption.faults:
        yield error(
            42,
            str(fault),
            "Name the dict that contrib's views take, by its module and its name "
            "there, such as 'project.urls.sitemaps'. Its keys become names of "
            "sections.",
        )


@examining("sites of sections")
def check_sites(**kwargs: Any) -> Faults:
    """Yield what is wrong with SITES, without a query."""
    with in_force(None):  # a site has a BASE_URL of its own
        given: Any = get_settings().sites
        yield from _faults_of_sites(given)
        known = list(given) if isinstance(given, Mapping) else [conf.DEFAULT_SITE]
        for name, source in registry.items():
            sites: Any = source.sites
            if not isinstance(sites, list | tuple | set | frozenset | None):
                message = f"Section {name!r}: sites is {sites!r}, which is not a list."
                yield error(62, message, f"Write sites = [{sites!r}].")
            elif given != _OF_CONTRIB:  # whose rows need a query
                for site in [it for it in sites or () if str(it) not in known]:
                    message = f"Section {name!r}: sites names {site!r}, which SITES "
                    hint = suggest(str(site), known, f"Known: {known}.")
                    yield error(62, f"{message}lacks.", hint)


def _faults_of_sites(given: Any) -> Faults:
    if given == _OF_CONTRIB:
        if not apps.is_installed("django.contrib.sites"):
            message = f"{_SITES} is {given!r}, which is not installed."
            yield error(60, message, "Add 'django.contrib.sites' to INSTALLED_APPS.")
        return
    if given is not None and not (given and isinstance(given, Mapping)):
        yield error(60, f"{_SITES} is {given!r}, which names no sites.", _FORM)
        return
    hosts = Counter[str]()
    for name, values in (given or {}).items():
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            message = f"{name!r} cannot name a site in {_SITES}."
            yield error(60, message, "Use 1 to 64 of a-z, 0-9, '_' and '-'.")
        try:
            site = sites.site_named(name)
        except ConfigurationError as fault:
            yield error(60, *reason_and_remedy(fault))
            continue
        known = conf.SITE_KEYS
        for key in values.keys() - {*known}:
            hint = suggest(str(key).upper(), known, f"Keys: {', '.join(known)}.")
            yield error(60, f"{_SITES}[{name!r}] has an unknown key {key!r}.", hint)
        # Another check says what is wrong with LANGUAGE_ORIGINS.
        with in_force(site), suppress(ConfigurationError):
            hosts.update({it.hosts[0] for it in sites.own_sites(site)})
    for host in [host for host, number in hosts.items() if number > 1]:
        message = f"{_SITES} has several sites of {host}."
        yield error(61, message, "A request's host chooses one: give each its own.")
