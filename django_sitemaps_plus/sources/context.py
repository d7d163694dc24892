"""The language, time zone and URLconf in which every sitemap is rendered."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC

from django.conf import settings
from django.urls import (
    get_script_prefix,
    get_urlconf,
    set_script_prefix,
    set_urlconf,
)
from django.utils import timezone, translation

from django_sitemaps_plus.conf import Site

_as_requested: ContextVar[bool] = ContextVar("as_requested", default=False)


@contextmanager
def as_requested() -> Iterator[None]:
    """Let what is rendered meanwhile be in the surroundings of the request."""
    token = _as_requested.set(True)
    try:
        yield
    finally:
        _as_requested.reset(token)


@contextmanager
def surroundings(site: Site) -> Iterator[None]:
    """Set language, time zone, URLconf and script prefix; restore them afterwards.

    All four come from settings, so a request, whose middleware may have set others,
    never influences a byte, save within :func:`as_requested`.
    """
    if _as_requested.get():
        yield
        return
    urlconf = get_urlconf()
    with surroundings_in(settings.LANGUAGE_CODE, site), timezone.override(UTC):
        # By name: with None, reverse() takes a sixth longer.
        set_urlconf(getattr(settings, "ROOT_URLCONF", None))
        try:
            yield
        finally:
            set_urlconf(urlconf)


@contextmanager
def surroundings_in(language: str, site: Site) -> Iterator[None]:
    """Set language and script prefix; the rest is as :func:`surroundings` set it."""
    script_prefix = get_script_prefix()
    with translation.override(language):
        set_script_prefix(site.script_prefix)
        try:
            yield
        finally:
            set_script_prefix(script_prefix)
