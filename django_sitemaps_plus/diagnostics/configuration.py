"""Configuration: what a process cannot use of the settings, whatever rows there are."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from typing import NamedTuple

from django.conf import settings

from django_sitemaps_plus import conf
from django_sitemaps_plus.conf import SETTING, AppSettings
from django_sitemaps_plus.core.suggestions import suggest
from django_sitemaps_plus.exceptions import ConfigurationError
from django_sitemaps_plus.executors.base import get_executor
from django_sitemaps_plus.notifications.configuration import broken_engines


class SettingsFault(NamedTuple):
    """A fault of the settings of the site in force."""

    number: int  # of the check that reports it
    message: str
    remedy: str
    engine: str = ""  # that cannot be made for it
    is_lack: bool = False  # whether another process may have what is missing


def settings_faults() -> Iterator[SettingsFault]:
    """Yield the faults that checks report, which a server does not run."""
    configured, known = conf.get_settings(), AppSettings.keys()
    if configured.unknown is None:
        kind = type(getattr(settings, SETTING)).__name__  # the value may have secrets
        message = f"{SETTING} is a {kind}, which is not a dict."
        remedy = f"Write {SETTING} = {{'BASE_URL': 'https://shop.example'}}."
        yield SettingsFault(2, message, remedy)
    for key in configured.unknown or ():
        remedy = suggest(str(key).upper(), known, f"Keys: {', '.join(known)}.")
        yield SettingsFault(1, f"{SETTING} has an unknown key {key!r}.", remedy)

    # Values that may have secrets are not shown.
    for item in [it for it in fields(AppSettings) if it.repr]:
        if words := configured.wrong.get(item.name):
            message = f"{conf.setting_name(item.name.upper())} {words}"
            yield SettingsFault(2, message, f"The default is {item.default!r}.")

    if (alias := configured.cache) not in settings.CACHES:
        # A URL in its place may have a password.
        named = repr(alias) if str(alias).isidentifier() else "no alias"
        message = f"{SETTING}['CACHE'] is {named}, which CACHES does not define."
        yield SettingsFault(
            6, message, f"Use one of these: {', '.join(settings.CACHES)}."
        )
    try:
        get_executor()
    except ConfigurationError as fault:
        message, _, remedy = str(fault).rpartition(". ")
        cause = fault.__cause__
        if cause and not isinstance(cause, ImportError):  # its words may have secrets
            name = conf.setting_name("EXECUTOR")
            message = f"{name} cannot be used: {type(cause).__name__}"
        yield SettingsFault(8, f"{message}.", remedy)

    remedy = f"Correct it in {conf.setting_name('ENGINES')}."
    for engine in broken_engines():
        name = str(engine.name) or "ENGINES"
        yield SettingsFault(25, str(engine), remedy, name, engine.is_lack)
