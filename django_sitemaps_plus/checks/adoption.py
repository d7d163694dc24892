"""Check of the dict that CONTRIB_SITEMAPS names."""

from __future__ import annotations

from typing import Any

from django.core.checks import CheckMessage

from django_sitemaps_plus import adoption
from django_sitemaps_plus.registry import registry

from .messages import error

_HINT = (
    "Name the dict that contrib's views take, by its module and its name there, such "
    "as 'project.urls.sitemaps'. Its keys become names of sections."
)


def check_adopted(**kwargs: Any) -> list[CheckMessage]:
    """Return what of contrib's sitemaps is not served."""
    len(registry)  # which adopts them
    return [error(42, str(fault), _HINT) for fault in adoption.faults]
