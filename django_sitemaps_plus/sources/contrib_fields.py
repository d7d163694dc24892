"""The fields of what contrib's sitemaps list, asked as contrib asks for them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from datetime import datetime
from functools import partial
from operator import itemgetter
from typing import Any

from django.conf import settings
from django.contrib.sitemaps import Sitemap
from django.db.models import Model, QuerySet
from django.utils import timezone

from django_sitemaps_plus.conf import Site
from django_sitemaps_plus.core.extensions import Alternate
from django_sitemaps_plus.core.locations import encode_url
from django_sitemaps_plus.sites import django_site, sample_site

from .columns import Failed, Getter, attempt, called, selected
from .fields import NAMESPACE_OF


class Fields:
    """Asks a sitemap for the fields of its items, item by item, as contrib does."""

    def __init__(
        self,
        sitemap: Any,  # of which a method may keep what the next one needs
        origin: str,  # that alternates begin with
        lastmod: Callable[[Any], Any],  # makes of one what is written
        title: Callable[[Any], Any] | None = None,  # makes that of an item
    ) -> None:
        self._sitemap = sitemap
        # Contrib asks for the location first.
        fields: dict[str, Any] = {"location": sitemap._location}
        if hasattr(sitemap, "lastmod"):
            fields["lastmod"] = lambda row: lastmod(sitemap._get("lastmod", row))
        methods = methods_of(sitemap)
        for name in ("changefreq", "priority", *methods):
            if hasattr(sitemap, name):
                fields[name] = partial(sitemap._get, name)
        if sitemap.i18n and sitemap.alternates:
            languages = _Languages(sitemap, origin, fields.get("alternates"))
            fields |= {"location": languages.path, "alternates": languages.alternates}
        if title is not None:  # then nothing else is shown
            fields = {"location": fields["location"], "title": title}
        self._asked = [*fields.values()]
        #: Callables that take the fields from rows.
        self.getters: dict[str, Getter] = {
            name: selected(itemgetter(place)) for place, name in enumerate(fields)
        }

    def rows(self, items: Sequence[Any]) -> tuple[Sequence[Any], list[list[Any]]]:
        """Return items, or each with each of its languages, and the fields of each."""
        getters = self._asked
        if self._sitemap.i18n:
            languages = self._sitemap.get_languages_for_item
            items = [(item, language) for item in items for language in languages(item)]
        return items, [[attempt(get, it) for get in getters] for it in items]


def methods_of(sitemap: Any) -> list[str]:
    """Return the extensions that a class has methods for; contrib asks none of them."""
    kind = sitemap if isinstance(sitemap, type) else type(sitemap)
    names = []
    for name in NAMESPACE_OF:
        method: Any = inspect.getattr_static(kind, name, None)
        # A method of this name that takes something else is one of the user's own.
        with suppress(AttributeError, TypeError, ValueError):
            inspect.signature(method.__get__(object(), kind)).bind("an item")
            names.append(name)
    return names


class _Languages:
    """Asks for the path of an item in each language once, for the rows of all."""

    def __init__(self, sitemap: Any, origin: str, own: Any) -> None:
        self._sitemap, self._origin, self._own = sitemap, origin, own
        self._item: Any = self
        self._paths: dict[str, Any] = {}
        self._alternates: list[tuple[str, str]] | None = None

    def path(self, row: tuple[Any, str], language: str | None = None) -> Any:
        """Return the path of a row, or that of its item in another language."""
        item, own = row
        if item is not self._item:
            self._item, self._paths, self._alternates = item, {}, None
        language = language or own
        if language not in self._paths:
            location = partial(self._sitemap._location, row)
            self._paths[language] = attempt(location, language)
        return self._paths[language]

    def alternates(self, row: tuple[Any, str]) -> list[Any]:
        """Return each language of a row's item with its URL.

        An own method may give them; what else it gives is for the user's own template.
        """
        if self._own:
            given = self._own(row) or ()
            listed = [*given] if isinstance(given, Iterable) else [given]
            if all(isinstance(it, Alternate | tuple | list) for it in listed):
                return listed
        if self._alternates is not None:
            return self._alternates
        sitemap, default = self._sitemap, settings.LANGUAGE_CODE
        languages = sitemap.get_languages_for_item(row[0])
        located = {it: self.path(row, it) for it in languages}
        texts = {k: attempt(str, v) for k, v in located.items() if v is not None}
        paths = {k: text for k, text in texts.items() if type(text) is not Failed}
        if sitemap.x_default and default in paths:
            paths["x-default"] = paths[default].replace(f"/{default}/", "/", 1)
        self._alternates = [(code, self._origin + path) for code, path in paths.items()]
        return self._alternates


def aware(value: Any) -> Any:
    """Return a naive datetime, which contrib prints as it is, as one in TIME_ZONE."""
    if isinstance(value, datetime) and timezone.is_naive(value):
        return timezone.make_aware(value, timezone.get_default_timezone())
    return value


def own_getters(lastmod: Callable[[Any], Any] = aware) -> dict[str, Getter]:
    """Return what takes the fields from the dicts of a class with its own pages."""
    return {
        "location": called(lambda url: url["location"]),
        "lastmod": called(lambda url: lastmod(url.get("lastmod"))),
        "changefreq": called(lambda url: url.get("changefreq")),
        "priority": called(lambda url: url.get("priority") or None),
        "alternates": called(
            lambda url: [
                (it["lang_code"], it["location"]) for it in url.get("alternates", ())
            ]
        ),
    }


def contrib_origin(sitemap: Any, site: Site) -> str:
    """Return scheme and host of the URLs of a sitemap, which it may choose itself."""
    scheme, _, host = site.origin.partition("://")
    if _chooses_host(sitemap):
        host = sitemap.get_domain(django_site(site))
    origin = f"{sitemap.get_protocol(scheme)}://{host}"
    try:
        return encode_url(origin)
    except ValueError as error:
        words = f"get_protocol() and get_domain() give {origin!r}: {error}"
        raise ValueError(words) from error


def models_of(items: object) -> tuple[type[Model], ...] | None:
    """Return the models of all items; none where one is not a row.

    An empty list may have rows another time: the answer is None.
    """
    kinds: Iterable[Any] = ()
    if isinstance(items, QuerySet):
        kinds = [query.model for query in items.query.combined_queries or [items.query]]
    elif isinstance(items, list | tuple):
        kinds = map(type, items)
        if not items:
            return None
    models = tuple(dict.fromkeys(kinds))
    return models if all([issubclass(kind, Model) for kind in models]) else ()


def items_of(sitemap: Any) -> Any:
    """Return what a sitemap lists.

    Its ``items()`` may need what ``get_domain()`` keeps, which contrib asks first.
    """
    try:
        return sitemap.items()
    except Exception:  # may be anything
        if not _chooses_host(sitemap):
            raise
        sitemap.get_domain(django_site(sample_site()))
        return sitemap.items()


def _chooses_host(sitemap: Any) -> bool:
    return getattr(sitemap.get_domain, "__func__", None) is not Sitemap.get_domain
