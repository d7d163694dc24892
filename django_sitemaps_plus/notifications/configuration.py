"""The engines that the settings name."""

from __future__ import annotations

import logging
from collections.abc import Mapping, MutableMapping
from functools import cache
from inspect import BoundArguments, signature
from typing import Any

from django.core.signals import setting_changed
from django.dispatch import receiver
from django.utils.module_loading import import_string

from django_sitemaps_plus.conf import SETTING, get_settings
from django_sitemaps_plus.exceptions import ConfigurationError

from .base import Engine
from .secrets import Secret

logger = logging.getLogger(__name__)


def get_engines() -> Mapping[str, Engine]:
    """Return the engines by their names, in the order of the settings.

    Raises:
        ConfigurationError: one cannot be made of what the settings say. It leads to
            none of their values.
    """
    engines, faults = _all()
    if faults:
        raise ConfigurationError(faults[0])
    return engines


def working_engines() -> Mapping[str, Engine]:
    """Return the engines that can be made: one that cannot keeps back no other."""
    return _all()[0]


def engine_faults() -> list[str]:
    """Return why engines cannot be made, a sentence each."""
    return _all()[1]


@cache
def _all() -> tuple[dict[str, Engine], list[str]]:
    engines: dict[str, Engine] = {}
    faults: list[str] = []
    try:
        names = engine_names()
    except ConfigurationError as error:
        return engines, [str(error)]
    for name in names:
        try:
            engines[name] = make_engine(name)
        except ConfigurationError as error:
            faults.append(str(error))
    for fault in faults:
        logger.error("%s", fault, extra={"action": "engine_unusable"})
    return engines, faults


def engine_names() -> list[str]:
    """Return the names of all engines, in the order of the settings.

    Raises:
        ConfigurationError: the settings have no dict of them.
    """
    if not isinstance(get_settings().engines, Mapping):
        raise ConfigurationError(f"{SETTING}['ENGINES'] is no dict.")
    return list(get_settings().engines)


def make_engine(name: str) -> Engine:
    """Return an engine as it is configured.

    Raises:
        ConfigurationError: it cannot be made; the message names it and what to do.
    """
    made = _made(name)
    if isinstance(made, Engine):
        made.name = name
        return made
    # Raised here, so that no traceback leads to options, which may be secrets.
    where = f"{SETTING}['ENGINES'][{name!r}]"
    raise ConfigurationError(f"{where}{made}")


def engine_class(name: str) -> type[Engine] | None:
    """Return the class of an engine, which need not be able to be made.

    None where it cannot be imported, or where a name has no class.
    """
    configured: Any = get_settings().engines[name]
    if not _is_name(name) or not isinstance(configured, Mapping):
        return None
    kind, _ = _imported(str(configured.get("BACKEND", "")))
    is_engine = isinstance(kind, type) and issubclass(kind, Engine)
    return kind if is_engine else None


def _is_name(name: Any) -> bool:
    return isinstance(name, str) and 0 < len(name) <= MAX_NAME


def _made(name: Any) -> Engine | str:
    """Return an engine, or why there is none, to follow where it is configured."""
    if not _is_name(name):
        return f": a name is a string of 1 to {MAX_NAME} characters."
    configured: Any = get_settings().engines[name]
    if not isinstance(configured, Mapping) or not configured.keys() <= _KEYS:
        return " must be a dict with BACKEND and, perhaps, OPTIONS."
    backend = str(configured.get("BACKEND", ""))
    factory, reason = _imported(backend)
    if reason:
        return f": {reason}."
    try:
        options = signature(factory).bind(**configured.get("OPTIONS", {}))
    except (TypeError, ValueError) as error:  # it names options, and no values
        return f": OPTIONS: {error}."
    engine = _called(factory, options)
    return f": {backend!r} {engine}" if isinstance(engine, str) else engine


def _imported(backend: str) -> tuple[Any, str]:
    """Return what a path leads to, or why it leads to nothing.

    Nothing is raised: the callers hold options, which debug pages would show.
    """
    try:
        return import_string(backend), ""
    except ImportError as error:
        return None, str(error)
    except Exception as error:  # noqa: BLE001 - a module of the project's own
        kind = type(error).__name__
        return None, f"{backend!r} cannot be imported: it raised {kind}: {error}"


def hide_credentials() -> None:
    """Replace credentials in the settings by secrets, which debug pages do not show.

    Django takes nothing for a secret that is called by this name. Who gives a path may
    have given the key itself by mistake. Those of an engine of the project's own stay:
    it may need the string.
    """
    configured: Any = get_settings().engines
    entries = configured.values() if isinstance(configured, Mapping) else ()
    for entry in entries:
        options = entry.get("OPTIONS") if isinstance(entry, Mapping) else None
        if isinstance(options, MutableMapping) and _is_ours(entry):
            given = options.get("credentials")
            if isinstance(given, str):
                options["credentials"] = Secret(given)


def _is_ours(entry: Mapping[str, Any]) -> bool:
    return str(entry.get("BACKEND")).startswith("django_sitemaps_plus.")


def _called(factory: Any, options: BoundArguments) -> Engine | str:
    try:
        engine = factory(*options.args, **options.kwargs)
    except ConfigurationError as error:
        return f"cannot be made: {error}"
    except Exception as error:  # noqa: BLE001 - an engine may be the user's code
        # Without its text, which may quote the options.
        kind = type(error).__name__
        return f"cannot be made with these options: {kind}. See the reference."
    return engine if isinstance(engine, Engine) else "is no Engine."


#: Characters of a name, as many as its rows have room for.
MAX_NAME = 64

_KEYS = {"BACKEND", "OPTIONS"}


@receiver(setting_changed)
def _clear_engines(*, setting: str, **kwargs: object) -> None:
    if setting == SETTING:
        _all.cache_clear()
