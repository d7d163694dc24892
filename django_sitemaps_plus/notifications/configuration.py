"""The engines that the settings name, and the checks of their options."""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping, Sequence
from hashlib import sha256
from inspect import signature
from typing import Any

from django.utils.module_loading import import_string

from django_sitemaps_plus import conf
from django_sitemaps_plus.core.locations import encode_url
from django_sitemaps_plus.core.suggestions import suggest
from django_sitemaps_plus.exceptions import ConfigurationError, EngineRefused
from django_sitemaps_plus.outages import log_once

from .base import Engine
from .http.addresses import parse_endpoint
from .secrets import Secret

logger = logging.getLogger(__name__)

#: Characters of an engine's name: as many as its rows hold.
MAX_NAME = 64

_KEYS = {"BACKEND", "OPTIONS"}

_LOOPBACK = "localhost, 127.0.0.1 or ::1"

# ASCII without spaces and control characters.
_TOKEN = re.compile("[!-~]+")


class EngineFault(ConfigurationError):
    """Why an engine cannot be made; its deliveries wait until it can."""

    name: Any = ""  # as the settings have it

    def __init__(
        self, fault: str, kind: type[Engine] | None = None, *, is_lack: bool = False
    ) -> None:
        super().__init__(fault)
        self.takes = kind and kind.takes  # None where its class is unknown
        self.follows_content = kind is not None and kind.follows_content
        #: Whether a key, a file or the like is missing, which may be there elsewhere.
        self.is_lack = is_lack


class _OptionError(ConfigurationError):
    """An option is missing or wrong."""

    def __init__(self, message: str, option: str, *, is_secret: bool) -> None:
        super().__init__(message)
        self.option, self.is_secret = option, is_secret


ConfiguredEngine = Engine | EngineFault


def get_engines() -> Mapping[str, Engine]:
    """Return the engines that work, by name, in the order of the settings."""
    return {k: it for k, it in _configured().items() if isinstance(it, Engine)}


def broken_engines() -> Sequence[EngineFault]:
    """Return the engines that cannot be made, in the order of the settings."""
    return [it for it in _configured().values() if isinstance(it, EngineFault)]


def get_engine(name: str) -> Engine:
    """Return an engine by its name, or raise why there is none."""
    engines = _configured()
    engine = engines.get(name)
    if engine is None:
        known = ", ".join(map(str, engines)) or "none"
        where = conf.setting_name("ENGINES")
        raise ConfigurationError(f"There is no engine {name!r}. {where} has: {known}.")
    if isinstance(engine, EngineFault):
        raise ConfigurationError(str(engine))
    return engine


def engines_to_notify() -> Sequence[ConfiguredEngine]:
    """Return all engines; what a broken one takes is queued as well."""
    for fault in broken_engines():
        log_once(logger, str(fault), "engine_broken")  # something waits for it
        if fault.takes is None:  # it is unknown whether it takes what has changed
            raise ConfigurationError(str(fault))
    return list(_configured().values())


def _configured() -> Mapping[Any, ConfiguredEngine]:
    return _engines_of(conf.settings_name())


@conf.until_settings_change
def _engines_of(site: str) -> Mapping[Any, ConfiguredEngine]:
    configured = conf.get_settings()
    if "engines" in configured.wrong:
        form = f"{{'indexnow': {{'BACKEND': '{__package__}.IndexNow', 'OPTIONS': "
        form += "{'key': ...}}}"
        fault = f"{conf.setting_name('ENGINES')} is not a dict. Write it as {form}."
        return {"": EngineFault(fault)}
    engines = dict[Any, ConfiguredEngine]()
    for name, given in configured.engines.items():
        try:
            engines[name] = _made(name, given)
        except EngineFault as error:
            # Traceback and context go: their frames hold options, perhaps secrets, and
            # a debug page would show them.
            error.name, error.__context__ = name, None
            engines[name] = error.with_traceback(None)
    return engines


def _made(name: Any, configured: Any) -> Engine:
    """Return an engine; raise nothing but an EngineFault, which loses its frames."""
    where = f"{conf.setting_name('ENGINES')}[{name!r}]"
    if not isinstance(name, str) or not 0 < len(name) <= MAX_NAME:
        words = f"a name must be a string of 1 to {MAX_NAME} characters."
        raise EngineFault(f"{where}: {words}")
    if not isinstance(configured, Mapping) or "BACKEND" not in configured:
        words = "must be a dict with BACKEND and, optionally, OPTIONS."
        raise EngineFault(f"{where} {words}")
    for key in configured.keys() - _KEYS:
        words = f"has an unknown key {key!r}: options belong into OPTIONS."
        raise EngineFault(f"{where} {words}")

    backend = str(configured["BACKEND"])
    try:
        kind = import_string(backend)
    except ImportError as error:
        ours = f"{__package__}."
        kinds = [it for it in Engine.__subclasses__() if it.__module__.startswith(ours)]
        hint = suggest(backend.rpartition(".")[2], [kind.__name__ for kind in kinds])
        hint = hint.replace("'", f"'{ours}", 1)
        raise EngineFault(f"{where}: {error}. {hint}".strip()) from None
    except Exception as error:  # noqa: BLE001 - a module of the project's own
        words = f"importing {backend!r} raised {type(error).__name__}: {error}."
        raise EngineFault(f"{where}: {words}", is_lack=True) from None
    if not isinstance(kind, type) or not issubclass(kind, Engine):
        raise EngineFault(f"{where}: {backend!r} is not a subclass of Engine.")

    where += f": {backend!r} cannot be made"
    options = configured.get("OPTIONS", {})
    engine = _instance(where, kind, options)
    engine.name = name
    texts = {
        k: it.reveal() if isinstance(it, Secret) else it for k, it in options.items()
    }
    texts = {k: it for k, it in texts.items() if isinstance(it, str)}
    given = repr((backend, sorted(texts.items())))
    engine.digest = sha256(given.encode(errors="surrogatepass")).hexdigest()
    return engine


def _instance(where: str, kind: type[Engine], options: Any) -> Engine:
    if not isinstance(options, Mapping):
        raise EngineFault(f"{where}: OPTIONS is not a dict.", kind)
    known: list[str] = []
    is_lack = False
    try:
        expected = signature(kind)
        known += expected.parameters
        expected.bind_partial(**options)
        is_lack = True
        expected.bind(**options)
    except (TypeError, ValueError) as error:  # it names options, and no values
        names = [str(name).lower() for name in options if name not in known]
        hints = [*filter(None, [suggest(name, known) for name in names])]
        takes = f"{kind.__name__} takes {', '.join(known) or 'none'}."
        words = " ".join([f"{where}: OPTIONS: {error}.", *hints[:1], takes])
        raise EngineFault(words, kind, is_lack=is_lack) from None
    try:
        return kind(**options)
    except _OptionError as error:
        is_lack = error.is_secret or not options.get(error.option)
        raise EngineFault(f"{where}: {error}", kind, is_lack=is_lack) from None
    except ConfigurationError as error:
        raise EngineFault(f"{where}: {error}", kind, is_lack=True) from None
    except Exception as error:  # noqa: BLE001 - an engine may be the user's code
        # The error is not quoted, since its text may quote the options.
        words = f"{where} with these options: {type(error).__name__}."
        words += f" Call {kind.__name__}(...) with them in a shell."
        raise EngineFault(words, kind, is_lack=True) from None


def bad_option(
    engine: Engine, option: str, remedy: str, *, is_secret: bool = False
) -> ConfigurationError:
    """Return the error of an option; the remedy follows the words "must be"."""
    # The value is not quoted, since any option may hold a secret.
    text = f"The option {option!r} of {type(engine).__name__} must be {remedy}. "
    text += f"Set it in {conf.setting_name('ENGINES')}."
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
