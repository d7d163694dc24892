"""Adoption: the sections of contrib's dict of sitemaps, which CONTRIB_SITEMAPS names.

The dict is most often in the URLconf, which must not be imported before all apps are
ready, or the admin would have no URLs; so it is when the sections are asked for.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from importlib import import_module
from typing import Any

from .conf import SETTING, get_settings
from .exceptions import ConfigurationError
from .models.base import contained
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
        sitemaps = getattr(module, name)
    except (ImportError, AttributeError, ValueError) as error:
        # A module or a name that this module needs itself is another matter.
        if isinstance(error, ImportError):
            is_missing = f"{module_path}.".startswith(f"{error.name}.")
        else:
            owner = getattr(getattr(error, "obj", None), "__name__", None)
            is_missing = (owner, getattr(error, "name", "")) == (module_path, name)
        if module_path and not is_missing:
            raise
        reason = f"{type(error).__name__}: {error}"
        raise _NotADictError(f"{named}: {reason}.") from error
    if not isinstance(sitemaps, Mapping):
        kind = type(sitemaps).__name__
        raise _NotADictError(f"{named}, which is a {kind} and not a dict.")
    return sitemaps
