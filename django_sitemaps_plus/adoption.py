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
from .registry import registry

logger = logging.getLogger(__name__)

#: What was wrong with the dict or its items, for a check.
faults: list[ConfigurationError] = []


def adopt() -> None:
    """Register what CONTRIB_SITEMAPS names, but for sections that are; never raise."""
    try:
        sitemaps = _named(get_settings().contrib_sitemaps)
        if sitemaps is None:
            return
        faults[:] = registry.adopt(sitemaps)
    except ConfigurationError as error:
        faults[:] = [error, *registry.adopt({})]
    for fault in faults:
        logger.error("%s", fault, extra={"action": "adoption_failed"})


def _named(path: Any) -> Mapping[Any, Any] | None:
    """Return the dict of a dotted path; None while its module is being imported."""
    named = f"{SETTING}['CONTRIB_SITEMAPS'] is {path!r}"
    module_path, _, name = str(path).rpartition(".")
    try:
        module = import_module(module_path)
        # It may be what asks for the sections. Django looks there, too.
        if getattr(module.__spec__, "_initializing", False):
            return None
        found = getattr(module, name)
    except Exception as error:  # of the project's code
        reason = f"{type(error).__name__}: {error}"
        raise ConfigurationError(f"{named}: {reason}.") from error
    if not isinstance(found, Mapping):
        kind = type(found).__name__
        raise ConfigurationError(f"{named}, which is a {kind} and not a dict.")
    return found
