"""Check that the URLs which an index names lead to our views."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage
from django.urls import NoReverseMatch, reverse

from .messages import error


def check_urls(**kwargs: Any) -> list[CheckMessage]:
    """Return a message where the URLconf does not include ours."""
    if not getattr(settings, "ROOT_URLCONF", None):
        return []
    try:
        reverse("sitemaps_plus:index")
    except NoReverseMatch:
        hint = 'Add path("", include("django_sitemaps_plus.urls")) to it.'
        return [error(7, "The URLconf has no sitemaps.", hint)]
    return []
