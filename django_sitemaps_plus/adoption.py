"""Adoption: the sections of contrib's dict of sitemaps, which CONTRIB_SITEMAPS names.

It is most often in the URLconf. That must not be imported before all apps are ready,
or the admin would have no URLs; so it is imported when the sections are asked for.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from importlib import import_module
from typing import Any

from .conf import SETTING, get_settings
from .exceptions import ConfigurationError
from .models.transactions import contained
from .registry import registry

logger = logging.getLogger(__name__)

#: The faults of the dict or its items, for a check.
faults: list[ConfigurationError] = []


def adopt() -> None:
    """Register what CONTRIB_SITEMAPS names, but for sections that are; never raise.

    An error of the project's code may pass, as that of missing tables or of a service.
    The sections stay unknown then, and are tried again when somebody asks for them.
    """
    try:
        with contained():
            sitemaps = _named(get_settings().contrib_sitemaps)
            if sitemaps is None:
                return
            faults[:] = registry.adopt(dict(sitemaps.items()))
    except _NotADictError as error:
        faults[:] = [error, *registry.adopt({})]
    except Exception as error:  # noqa: BLE001 - it is the project's code
        faults[:], registry.unread = [], error
    for fault in faults:
        logger.error("%s", fault, extra={"action": "adoption_failed"})


class _NotADictError(ConfigurationError):
    """The setting names nothing that could ever be adopted."""


def _named(path: Any) -> Mapping[Any, Any] | None:
    """Return the dict of a dotted path; None while its module is being imported."""
    named = f"{SETTING}['CONTRIB_SITEMAPS'] is {path!r}"
    module_path, _, name = str(path).rpartition(".")
    try:
        module = import_module(module_path)
        # The URLconf may be what asks for the sections. Django looks there, too.
        if getattr(module.__spec__, "_initializing", False):
            return None
        found = getattr(module, name)
    except (ImportError, AttributeError, ValueError) as error:
        if module_path and not _is_missing(error, module_path, name):
            raise
        reason = f"{type(error).__name__}: {error}"
        raise _NotADictError(f"{named}: {reason}.") from error
    if not isinstance(found, Mapping):
        kind = type(found).__name__
        raise _NotADictError(f"{named}, which is a {kind} and not a dict.")
    return found


def _is_missing(error: Exception, module_path: str, name: str) -> bool:
    """Return whether the module or its name is missing, and not one that it needs."""
    if isinstance(error, ImportError):
        return f"{module_path}.".startswith(f"{error.name}.")
    if not isinstance(error, AttributeError) or error.name != name:
        return False
    return getattr(error.obj, "__name__", None) == module_path
