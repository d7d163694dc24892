"""The language, time zone and URLconf in which every sitemap is rendered."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
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


@contextmanager
def surroundings(site: Site) -> Iterator[None]:
    """Set language, time zone, URLconf and script prefix; restore them afterwards.

    All four come from settings, so a request, whose middleware may have set others,
    never influences a byte.
    """
    urlconf, script_prefix = get_urlconf(), get_script_prefix()
    with translation.override(settings.LANGUAGE_CODE), timezone.override(UTC):
        set_urlconf(None)
        set_script_prefix(site.script_prefix)
        try:
            yield
        finally:
            set_urlconf(urlconf)
            set_script_prefix(script_prefix)
