"""``ViewSource``: named URL patterns without rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.urls import reverse

from .base import DeclaredSource

View = str | tuple[str, dict[str, Any]]


class ViewSource(DeclaredSource):
    """Pages that are views of their own: home, about, contact.

    ``lastmod``, ``changefreq``, ``priority``, ``images``, ``videos``, ``news`` and
    ``alternates`` are each a constant or a method that takes the view as listed.

    Attributes:
        views: names of URL patterns, or pairs of a name and its keyword arguments.
    """

    views: Sequence[View] = ()

    def location(self, view: View) -> str:
        """Return the path of a view."""
        if isinstance(view, str):
            return reverse(view)
        name, arguments = view
        return reverse(name, kwargs=arguments)
