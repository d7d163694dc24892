"""Checks that the URLs in an index lead to the views of this app."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage
from django.http import HttpResponse
from django.urls import NoReverseMatch, Resolver404, resolve, reverse

from .messages import error

_INCLUDE = 'path("", include("django_sitemaps_plus.urls"))'

#: What to do if another view answers.
PUT_FIRST = f"Put {_INCLUDE} before what answers it now"


def check_urls(**kwargs: Any) -> list[CheckMessage]:
    """Return a message if the URLconf does not include ours."""
    if not getattr(settings, "ROOT_URLCONF", None) or are_included():
        return []
    return [error(7, "The URLconf does not include the sitemaps.", f"Add {_INCLUDE}.")]


def are_included() -> bool:
    """Return whether the URLconf includes our URLs, at the root or elsewhere."""
    try:
        reverse("sitemaps_plus:index")
    except NoReverseMatch:
        return False
    return True


def is_answered_by(view: Callable[..., HttpResponse], path: str) -> bool:
    """Return whether a path leads to a view."""
    try:
        return resolve(path).func is view
    except Resolver404:
        return False
