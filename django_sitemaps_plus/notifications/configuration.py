"""The engines that the settings name, and the checks of their options."""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from inspect import signature
from typing import Any

from django.utils.module_loading import import_string

from django_sitemaps_plus import conf
from django_sitemaps_plus.core.locations import encode_url
from django_sitemaps_plus.core.suggestions import suggest
from django_sitemaps_plus.exceptions import ConfigurationError, EngineRefused

from .base import Engine, Takes
from .http.addresses import parse_endpoint
from .secrets import Secret

logger = logging.getLogger(__name__)

#: Characters of an engine's name: as many as its rows hold.
MAX_NAME = 64

_KEYS = {"BACKEND", "OPTIONS"}

_LOOPBACK = "localhost, 127.0.0.1 or ::1"

# ASCII without spaces and control characters.
_TOKEN = re.compile("[!-~]+")


@dataclass(frozen=True, slots=True)
class BrokenEngine:
    """An engine that cannot be made; its deliveries wait until it can."""

    name: str
    fault: str  # what is wrong, as a sentence
    takes: Takes | None = None  # None where its class is unknown
    follows_content: bool = False
    #: Whether a key, a file or the like is missing, which may be there elsewhere.
    is_lack: bool = False


class _Lack(str):
    """Why an engine cannot be made in this environment; another may have what lacks."""


class _OptionError(ConfigurationError):
    """An option is missing or wrong."""

    def __init__(self, message: str, option: str, *, is_secret: bool) -> None:
        super().__init__(message)
        self.option, self.is_secret = option, is_secret


ConfiguredEngine = Engine | BrokenEngine


def get_engines() -> Mapping[str, Engine]:
    """Return the engines that work, by name, in the order of the settings."""
    return {e.name: e for e in _configured() if isinstance(e, Engine)}


def broken_engines() -> Sequence[BrokenEngine]:
    """Return the engines that cannot be made, in the order of the settings."""
    return [engine for engine in _configured() if isinstance(engine, BrokenEngine)]


def get_engine(name: str) -> Engine:
    """Return an engine by its name, or raise why there is none."""
    engines = {engine.name: engine for engine in _configured()}
    engine = engines.get(name)
    if engine is None:
        known = ", ".join(map(str, engines)) or "none"
        raise ConfigurationError(f"There is no engine {name!r}. ENGINES has: {known}.")
    if isinstance(engine, BrokenEngine):
        raise ConfigurationError(engine.fault)
    return engine


def engines_to_notify() -> Sequence[ConfiguredEngine]:
    """Return all engines; what a broken one takes is queued as well."""
    for engine in broken_engines():
        _log(engine)
        if engine.takes is None:  # it is unknown whether it takes what has changed
            raise ConfigurationError(engine.fault)
    return _configured()


def _configured() -> Sequence[ConfiguredEngine]:
    return _engines_of(conf.settings_name())


@conf.until_settings_change
def _engines_of(site: str) -> Sequence[ConfiguredEngine]:
    configured: Any = conf.get_settings().engines
    if not isinstance(configured, Mapping):
        form = f"{{'indexnow': {{'BACKEND': '{__package__}.IndexNow', 'OPTIONS': "
        form += "{'key': ...}}}"
        fault = f"{conf.SETTING}['ENGINES'] is not a dict. Write it as {form}."
        return [BrokenEngine("", fault)]
    return [_made(name, given) for name, given in configured.items()]


@cache
def _log(engine: BrokenEngine) -> None:
    """Log a fault once, where something waits for it; a check has it as a message."""
    logger.error("%s", engine.fault, extra={"action": "engine_broken"})


def _made(name: Any, configured: Any) -> ConfiguredEngine:
    """Return an engine, or why there is none.

    Neither this nor what it calls raises: their frames hold options, which may be
    secrets, and a debug page would show them.
    """
    where = f"{conf.SETTING}['ENGINES'][{name!r}]"
    if not isinstance(name, str) or not 0 < len(name) <= MAX_NAME:
        fault = f"{where}: a name must be a string of 1 to {MAX_NAME} characters."
        return BrokenEngine(name, fault)
    if not isinstance(configured, Mapping) or "BACKEND" not in configured:
        fault = f"{where} must be a dict with BACKEND and, optionally, OPTIONS."
        return BrokenEngine(name, fault)
    for key in configured.keys() - _KEYS:
        fault = f"{where} has an unknown key {key!r}: options belong into OPTIONS."
        return BrokenEngine(name, fault)
    backend = str(configured.get("BACKEND", ""))
    kind = _imported(backend)
    if isinstance(kind, str):
        lacks = isinstance(kind, _Lack)
        return BrokenEngine(name, f"{where}: {kind}", is_lack=lacks)
    engine = _instance(kind, configured.get("OPTIONS", {}))
    if isinstance(engine, str):
        fault, lacks = f"{where}: {backend!r} {engine}", isinstance(engine, _Lack)
        return BrokenEngine(name, fault, kind.takes, kind.follows_content, lacks)
    engine.name = name
    return engine


def _imported(backend: str) -> type[Engine] | str:
    try:
        kind = import_string(backend)
    except ImportError as error:
        ours = f"{__package__}."
        kinds = [it for it in Engine.__subclasses__() if it.__module__.startswith(ours)]
        hint = suggest(backend.rpartition(".")[2], [kind.__name__ for kind in kinds])
        hint = hint.replace("'", f"'{ours}", 1)
        return f"{error}. {hint}".strip()
    except Exception as error:  # noqa: BLE001 - a module of the project's own
        return _Lack(f"importing {backend!r} raised {type(error).__name__}: {error}.")
    if isinstance(kind, type) and issubclass(kind, Engine):
        return kind
    return f"{backend!r} is not a subclass of Engine."


def _instance(kind: type[Engine], options: Any) -> Engine | str:
    if not isinstance(options, Mapping):
        return "cannot be made: OPTIONS is not a dict."
    known: list[str] = []
    is_known = False
    try:
        expected = signature(kind)
        known += expected.parameters
        expected.bind_partial(**options)
        is_known = True
        expected.bind(**options)
    except (TypeError, ValueError) as error:  # it names options, and no values
        hints = [suggest(str(name), known) for name in options if name not in known]
        takes = f"{kind.__name__} takes {', '.join(known) or 'none'}."
        words = ["cannot be made: OPTIONS:", f"{error}.", *hints[:1], takes]
        return (_Lack if is_known else str)(" ".join(words))
    try:
        return kind(**options)
    except _OptionError as error:
        lacks = error.is_secret or not options.get(error.option)
        return (_Lack if lacks else str)(f"cannot be made: {error}")
    except ConfigurationError as error:
        return _Lack(f"cannot be made: {error}")
    except Exception as error:  # noqa: BLE001 - an engine may be the user's code
        # The error is not quoted, since its text may quote the options.
        error_kind = type(error).__name__
        fault = f"cannot be made with these options: {error_kind}. See the reference."
        return _Lack(fault)


def bad_option(
    engine: Engine, option: str, remedy: str, *, is_secret: bool = False
) -> ConfigurationError:
    """Return the error of an option; the remedy follows the words "must be"."""
    # The value is not quoted, since any option may hold a secret.
    text = f"The option {option!r} of {type(engine).__name__} must be {remedy}. "
    text += f"Set it in {conf.SETTING}['ENGINES']."
    return _OptionError(text, option, is_secret=is_secret)


def secret_option(engine: Engine, option: str, value: object, what: str) -> Secret:
    """Return a key or a token that fits into a header or a query, or raise."""
    text = value.reveal() if isinstance(value, Secret) else value
    if not isinstance(text, str) or not _TOKEN.fullmatch(text):
        remedy = f"{what}, without spaces and line ends"
        raise bad_option(engine, option, remedy, is_secret=True)
    return Secret(text)


def endpoint_option(
    engine: Engine, option: str, value: object, *, may_have_query: bool = False
) -> str:
    """Return a URL that requests may go to, as far as it shows that, or raise."""
    without = "a fragment" if may_have_query else "a query"
    remedy = f"an absolute https URL without {without}, or http to {_LOOPBACK}"
    error = bad_option(engine, option, remedy)
    url = encoded_url(value)
    if url is None or "#" in url or ("?" in url and not may_have_query):
        raise error
    try:
        parse_endpoint(url)
    except EngineRefused:
        raise error from None
    return url


def encoded_url(value: object) -> str | None:
    """Return a URL as a sitemap would list it; None for anything else."""
    try:
        return encode_url(value)  # type: ignore[arg-type] # which it checks
    except (TypeError, ValueError):
        return None
