"""Languages: the surroundings of what is rendered, and rows in several languages."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from django.conf import settings
from django.conf.urls.i18n import is_language_prefix_patterns_used
from django.urls import get_script_prefix, get_urlconf, set_script_prefix, set_urlconf
from django.utils import timezone, translation

from django_sitemaps_plus.conf import Site
from django_sitemaps_plus.sites import site_in

from .base import DeclaredSource, ModelSource
from .columns import (
    Column,
    Failed,
    Getter,
    NoLocationError,
    Parts,
    Problem,
    RouteValues,
    Values,
    attempt,
    row_by_row,
)
from .fields import COLUMNS
from .lines import Lines, Tally, side_by_side
from .route import in_language

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
    zone = timezone.get_default_timezone()
    # By name: with None, reverse() takes a sixth longer.
    urlconf = getattr(settings, "ROOT_URLCONF", None)
    before = _present()
    _change(before, (rendered_language(), site.script_prefix, urlconf, zone))
    try:
        yield
    finally:
        _change(_present(), before)


def _present() -> tuple[Any, ...]:
    zone = timezone.get_current_timezone()
    return translation.get_language(), get_script_prefix(), get_urlconf(), zone


def _change(present: tuple[Any, ...], wanted: tuple[Any, ...]) -> None:
    """Set what is not as it is wanted: to look takes a fifth of the time to set."""
    if present == wanted:
        return
    language, script_prefix, urlconf, zone = wanted
    if language is None:
        translation.deactivate_all()
    else:
        translation.activate(language)
    set_script_prefix(script_prefix)
    set_urlconf(urlconf)
    if zone is timezone.get_default_timezone():
        timezone.deactivate()
    else:
        timezone.activate(zone)


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


def languages_of(source: DeclaredSource) -> list[str]:
    """Return the codes of the languages that a source lists; none if it lists one."""
    if source.languages == "all":
        return [code for code, _ in settings.LANGUAGES]
    return [*dict.fromkeys(source.languages)]


def declared_in_languages(source: ModelSource) -> Iterator[tuple[str, Any]]:
    """Yield name and value of what a source declares, the location in each language."""
    for name in (*COLUMNS, "get_languages"):
        yield name, getattr(source, name)
    locations = [in_language(source.location, code) for code in languages_of(source)]
    for location in locations or [source.location]:
        yield "location", location


@dataclass(frozen=True, slots=True)
class LanguageLines(Lines):
    """Writes the rows of one source as lines, one for each language of a row."""

    #: The sites that have their URLs.
    sites: Mapping[str, Site] = field(default_factory=dict)
    #: Takes the languages of rows; None: each has all.
    offered: Getter | None = None
    #: The language whose URL, without its prefix, is for all other languages, or "".
    default: str = ""

    def _located(
        self, rows: Sequence[Any], problems: list[Problem]
    ) -> tuple[Parts, set[int]]:
        """Return for each language the URL of each row, "" where it has none."""
        offered = self._offered(rows, problems)
        urls = []
        for language, location in self.locations.items():
            among = enumerate(offered)
            numbers = [row for row, it in among if it is None or language in it]
            # Versions often lack a URL, and an error for each would take long.
            if isinstance(location, RouteValues) and (bad := location.without(rows)):
                numbers = [row for row in numbers if row not in bad]
            texts = [""] * len(rows)
            if numbers:
                wanted = [rows[row] for row in numbers]
                failed: list[Problem] = []
                with surroundings_in(language, self.sites[language]):
                    located = row_by_row(location.parts(wanted, failed), len(wanted))
                for row, text in zip(numbers, located, strict=True):
                    texts[row] = text
                what = f"its {language!r} version"
                for row, _, error in failed:
                    texts[numbers[row]] = ""
                    if isinstance(error, NoLocationError):
                        error.__traceback__ = None  # its frames hold the whole batch
                    else:
                        problems.append((numbers[row], what, error))
            urls.append(texts)
        lacking = [row for row, it in enumerate(zip(*urls, strict=True)) if not any(it)]
        return [*urls], {*lacking}

    def _offered(self, rows: Sequence[Any], problems: list[Problem]) -> list[Any]:
        """Return the languages of each row; None for all of them."""
        if self.offered is None:
            return [None] * len(rows)

        def listed(given: Any) -> list[Any] | None:
            if isinstance(given, str) or not isinstance(given, Iterable | None):
                raise TypeError(f"{given!r} is not a list of languages")
            return None if given is None else list(given)

        offered = [attempt(listed, given) for given in self.offered(rows)]
        for row, codes in enumerate(offered):
            if type(codes) is Failed:
                problems.append((row, "location", codes.error))
                offered[row] = ()
        return offered

    def _entries(self, located: Parts, fields: Parts, tally: Tally, count: int) -> str:
        links: Parts = []
        by_language: dict[str, Any] = dict(zip(self.locations, located, strict=True))
        for language, texts in by_language.items():
            links += _link(language).parts(texts)
        if self.default in by_language:
            # The URLs without a prefix, at which the site itself chooses the language.
            root = re.escape(self.sites[self.default].script_prefix)
            prefix = re.compile(rf"(https?://[^/]+{root}){re.escape(self.default)}/")
            own = by_language[self.default]
            texts = [prefix.sub(r"\1", url, count=1) for url in own]
            links += _link("x-default").parts(texts)
        rest = row_by_row(["</loc>", *fields, *links, "</url>\n"], count)
        parts: Parts = []
        for texts in by_language.values():
            tally.entries += count - texts.count("")
            if "" in texts:
                both = zip(texts, rest, strict=True)
                parts.append([f"<url><loc>{it}{end}" if it else "" for it, end in both])
            else:
                parts += ["<url><loc>", texts, rest]
        return side_by_side(parts, count)


def language_lines(
    source: DeclaredSource,
    versions: Mapping[str, Values | RouteValues],
    offered: Getter | None,
    fields: Sequence[Values],
    site: Site,
) -> LanguageLines:
    """Return what writes rows, given where they are in each language."""
    return LanguageLines(
        locations=versions,
        fields=fields,
        raises=source.on_error == "raise",
        sites={code: site_in(code, site) for code in versions},
        offered=offered,
        default=default_language() if source.x_default else "",
    )


@cache
def _link(language: str) -> Column:
    before = f'<xhtml:link rel="alternate" hreflang="{language}" href="'
    return Column(name="alternates", write=str, before=before, after='"/>')
