"""``ViewSource``: named URL patterns without rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from django.urls import reverse

from .base import Source

View = str | tuple[str, dict[str, Any]]


class ViewSource(Source):
    """Pages that are views of their own: home, about, contact.

    ``lastmod``, ``changefreq``, ``priority``, ``images``, ``videos``, ``news`` and
    ``alternates`` are each a constant or a method that takes the view as listed.

    With ``languages``, each view is listed once a language, and each of these entries
    names all versions.

    Attributes:
        views: names of URL patterns, or pairs of a name and its keyword arguments.
        languages: codes of languages, or ``"all"`` for those of ``LANGUAGES``.
        x_default: whether the entries name the URL of ``LANGUAGE_CODE``, without its
            prefix, for all other languages.
        get_languages: a method that takes the view and returns its languages, where
            not each has all.
    """

    views: Sequence[View] = ()
    languages: Sequence[str] | Literal["all"] = ()
    x_default: bool = False
    get_languages: Any = None

    lastmod: Any = None
    changefreq: Any = None
    priority: Any = None
    images: Any = None
    videos: Any = None
    news: Any = None
    alternates: Any = None

    def location(self, view: View) -> str:
        """Return the path of a view."""
        if isinstance(view, str):
            return reverse(view)
        name, arguments = view
        return reverse(name, kwargs=arguments)
