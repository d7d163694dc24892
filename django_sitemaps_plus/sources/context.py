"""The language, time zone and URLconf in which every sitemap is rendered."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC

from django.conf import settings
from django.conf.urls.i18n import is_language_prefix_patterns_used
from django.urls import get_script_prefix, get_urlconf, set_script_prefix, set_urlconf
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
    with surroundings_in(rendered_language(), site), timezone.override(UTC):
        # By name: with None, reverse() takes a sixth longer.
        set_urlconf(getattr(settings, "ROOT_URLCONF", None))
        try:
            yield
        finally:
            set_urlconf(urlconf)


def default_language() -> str:
    """Return the language of ``LANGUAGES`` that ``LANGUAGE_CODE`` stands for, or ""."""
    try:
        return translation.get_supported_language_variant(settings.LANGUAGE_CODE)
    except LookupError:
        return ""


def rendered_language() -> str:
    """Return the language in which requests find the URLs of the default one.

    ``LocaleMiddleware`` knows only languages of ``LANGUAGES``; but URLs without a
    prefix are those of ``LANGUAGE_CODE``, to the letter.
    """
    language, code = default_language(), settings.LANGUAGE_CODE
    urlconf = getattr(settings, "ROOT_URLCONF", None)
    if urlconf is None or language in ("", code):
        return code
    is_used, has_all_prefixes = is_language_prefix_patterns_used(urlconf)
    return code if is_used and not has_all_prefixes else language


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
