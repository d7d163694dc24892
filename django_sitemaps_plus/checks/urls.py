"""Check that the URLs which an index names lead to our views."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage
from django.http import HttpResponse
from django.urls import NoReverseMatch, Resolver404, resolve, reverse

from .messages import error

_INCLUDE = 'path("", include("django_sitemaps_plus.urls"))'

#: What to do where something else than our view answers.
PUT_FIRST = f"Put {_INCLUDE} before what answers it now"


def check_urls(**kwargs: Any) -> list[CheckMessage]:
    """Return a message where the URLconf does not include ours."""
    if not getattr(settings, "ROOT_URLCONF", None) or are_included():
        return []
    return [error(7, "The URLconf has no sitemaps.", f"Add {_INCLUDE} to it.")]


def are_included() -> bool:
    """Return whether the URLconf includes our URLs, at the root or elsewhere."""
    try:
        reverse("sitemaps_plus:index")
    except NoReverseMatch:
        return False
    return True


def is_answered_by(view: Callable[..., HttpResponse], path: str) -> bool:
    """Return whether a view of ours is the first that a path leads to."""
    try:
        return resolve(path).func is view
    except Resolver404:
        return False
