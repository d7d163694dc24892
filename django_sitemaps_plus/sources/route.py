"""``Route``: ``reverse()`` compiled once, then used for every row."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any
from urllib.parse import quote
from weakref import WeakKeyDictionary

from django import urls
from django.urls.resolvers import get_ns_resolver
from django.utils.functional import Promise
from django.utils.http import escape_leading_slashes
from django.utils.translation import get_language

from django_sitemaps_plus.core.xml import escape

from .quoting import ARGUMENTS, NO_LINE, PATHS, SAFE_IN_PATHS, Quoting

logger = logging.getLogger(__name__)

_ARGUMENT = re.compile(r"%%|%\((.*?)\)s")  # in the template of a path


class Route:
    """The URL of a named pattern, with its arguments taken from the row.

    Args:
        name: as for ``reverse()``, namespaces included.
        arguments: the pattern's keyword arguments, each with a field path
            (``"author__slug"``) or a Django expression.
    """

    def __init__(self, name: str, /, *unnamed: Any, **arguments: Any) -> None:
        if not isinstance(name, str | Promise):
            raise TypeError(
                "Route() takes the name of a pattern in quotes, as in "
                f'Route("product-detail", slug="slug"), not {name!r}.'
            )
        if unnamed:
            raise TypeError(
                "Route() takes each argument by the name that it has in the pattern, "
                f"as in Route({name!r}, slug={unnamed[0]!r})."
            )
        self.name = name
        self.arguments = arguments
        self._compiled: WeakKeyDictionary[
            urls.URLResolver, dict[Any, CompiledRoute]
        ] = WeakKeyDictionary()

    def __repr__(self) -> str:
        arguments = "".join([f", {k}={v!r}" for k, v in self.arguments.items()])
        return f"Route({self.name!r}{arguments})"

    def in_language(self, language: str) -> Route:
        """Return the route with the language in its paths."""
        declared = self.arguments.items()
        arguments = {name: in_language(it, language) for name, it in declared}
        if arguments == self.arguments:
            return self
        route = Route(self.name, **arguments)
        route._compiled = self._compiled  # it does not depend on the paths
        return route

    def compile(self) -> CompiledRoute:
        """Return the route for the URLconf, language and script prefix in force."""
        known = self._compiled.setdefault(urls.get_resolver(urls.get_urlconf()), {})
        surroundings = (get_language(), urls.get_script_prefix())
        if surroundings not in known:
            known[surroundings] = compile_route(self.name, tuple(self.arguments))
        return known[surroundings]


def in_language(declared: Any, language: str) -> Any:
    """Return a declaration with a language in its paths as in names: ``slug_pt_br``."""
    if isinstance(declared, Route):
        return declared.in_language(language)
    if isinstance(declared, str):
        return declared.replace("{language}", language.replace("-", "_"))
    return declared


@dataclass(frozen=True)
class CompiledRoute:
    """Gives for each row exactly what ``reverse()`` gives."""

    name: str
    arguments: tuple[str, ...]
    #: Patterns with these arguments in the resolver's order; None: reverse() knows.
    candidates: tuple[_Candidate, ...] | None

    @property
    def can_match(self) -> bool:
        """Whether some pattern has the right arguments; their values may not fit."""
        return self.candidates is None or bool(self.candidates)

    @property
    def patterns(self) -> tuple[tuple[str, str], ...]:
        """The patterns behind it, as far as known: others make other URLs."""
        return tuple([(it.template, it.pattern) for it in self.candidates or ()])

    @cached_property
    def plain(self) -> PlainRoute | None:
        """The parts of the URL, where values of a column can be written together."""
        if not self.candidates or self.candidates[0].defaults:
            return None
        first, arguments = self.candidates[0], self.arguments
        if route := _plain_route(first, arguments):
            return route
        if not arguments or "%" in _ARGUMENT.sub("", first.template):
            return None  # there are no rows, or reverse() raises

        def columns(values: list[Sequence[Any]]) -> list[Sequence[Any]]:
            return [first.lines(dict(zip(arguments, values, strict=True)))]

        # Whole paths are written, each of which the pattern matches.
        return PlainRoute(("", ""), ((0, PATHS),), columns)

    def __call__(self, values: Sequence[Any]) -> str:
        """Return the path for the values of the arguments, in their order."""
        kwargs = dict(zip(self.arguments, values, strict=True))
        if self.candidates is None:
            return urls.reverse(self.name, kwargs=kwargs)
        for candidate in self.candidates:
            if (path := candidate.path(kwargs)) is not None:
                return path
        empty = [name for name, value in kwargs.items() if value in ("", None)]
        cause = f"Empty: {', '.join(empty)}. " if empty else ""
        raise urls.NoReverseMatch(
            f"{cause}No pattern named {self.name!r} takes {str(kwargs)[:300]}"
        )


@dataclass(frozen=True, slots=True)
class PlainRoute:
    """A pattern by which the values of columns are written together."""

    #: Text around the columns, quoted and escaped; one more than there are.
    pieces: tuple[str, ...]
    #: For each place in the URL the number of its column, and how it is written.
    places: tuple[tuple[int, Quoting], ...]
    #: Returns the columns of the arguments' values; None where they are the same.
    columns: Callable[[list[Sequence[Any]]], list[Sequence[Any]]] | None = None


def compile_route(name: str, arguments: tuple[str, ...]) -> CompiledRoute:
    """Return the route for the URLconf, language and script prefix in force."""
    try:
        resolver, view = resolver_of(name)
        has_own = _own_reverse(type(resolver)) is not _own_reverse(urls.URLResolver)
        possibilities = [] if has_own else resolver.reverse_dict.getlist(view)
    except urls.NoReverseMatch:  # no such namespace: no row has a URL
        return CompiledRoute(name, arguments, ())
    if has_own:
        logger.warning(
            "Route %r is not compiled, so each row asks reverse(): "
            "%s reverses in its own way",
            name,
            type(resolver).__name__,
        )
        return CompiledRoute(name, arguments, None)
    prefix, candidates = urls.get_script_prefix(), []
    for forms, pattern, defaults, pattern_converters in possibilities:
        for form, params in forms:
            if {*arguments}.symmetric_difference(params).difference(defaults):
                continue
            candidate = _Candidate(
                template=prefix.replace("%", "%%") + form,
                prefix=re.escape(prefix),
                pattern=pattern,
                defaults={k: v for k, v in defaults.items() if k not in params},
                converters=pattern_converters,
            )
            candidates.append(candidate)
    return CompiledRoute(name, arguments, tuple(candidates))


@dataclass(frozen=True)
class _Candidate:
    """A way to write the URL: a form of a pattern that has the right arguments."""

    template: str  # %-format of the path, not quoted
    prefix: str  # the script prefix in it, as a regular expression
    pattern: str  # the path must match it, as the resolver will match it
    defaults: Mapping[str, Any]  # values that arguments outside the path must have
    converters: Mapping[str, Any]

    @cached_property
    def regex(self) -> re.Pattern[str]:
        return re.compile(f"^{self.prefix}{self.pattern}")

    def path(self, values: Mapping[str, Any]) -> str | None:
        """Return the quoted path, or None where the values do not fit."""
        for name, default in self.defaults.items():
            if values.get(name, default) != default:
                return None
        try:
            texts = {name: self._text(name, value) for name, value in values.items()}
        except ValueError:
            return None
        path = self.template % texts
        if not self.regex.search(path):
            return None
        return escape_leading_slashes(quote(path, safe=SAFE_IN_PATHS))

    def lines(self, columns: Mapping[str, Sequence[Any]]) -> list[str]:
        """Return the path of each row, not quoted; NO_LINE where one is odd."""

        def line(name: str, value: Any) -> Any:
            try:
                return NO_LINE if value is None else self._text(name, value)
            except Exception:  # noqa: BLE001 - met again where the row is looked at
                return NO_LINE

        names = [name for name in _ARGUMENT.findall(self.template) if name]
        template = _ARGUMENT.sub(lambda it: "%s" if it[1] else "%%", self.template)
        texts = [[line(name, value) for value in columns[name]] for name in names]
        paths = map(template.__mod__, zip(*texts, strict=True))
        search = self.regex.search
        return [path if search(path) else NO_LINE for path in paths]

    def _text(self, name: str, value: Any) -> Any:
        converter = self.converters.get(name)
        return str(value) if converter is None else converter.to_url(value)


def _own_reverse(kind: type[urls.URLResolver]) -> Any:
    return kind._reverse_with_prefix  # type: ignore[attr-defined]  # not in the stubs


def resolver_of(name: str) -> tuple[urls.URLResolver, str]:
    """Walk the namespaces of a name as reverse() does without a current app."""
    resolver = urls.get_resolver(urls.get_urlconf())
    *namespaces, view = name.split(":")
    pattern, pattern_converters = "", {}
    for namespace in namespaces:
        instances = resolver.app_dict.get(namespace)
        if instances and namespace not in instances:
            namespace = instances[0]  # an app name: its first instance
        if namespace not in resolver.namespace_dict:
            raise urls.NoReverseMatch(
                f"{namespace!r} of {name!r} is not a registered namespace"
            )
        extra, resolver = resolver.namespace_dict[namespace]
        pattern += extra
        pattern_converters.update(resolver.pattern.converters)
    if pattern:
        resolver = get_ns_resolver(pattern, resolver, tuple(pattern_converters.items()))
    return resolver, view


def _plain_route(
    candidate: _Candidate, arguments: tuple[str, ...]
) -> PlainRoute | None:
    """Return what a pattern that ``path()`` made is made of, else None.

    Its regular expression is then literal text and the expressions of Django's own
    converters in a row, so a path matches when each value matches its own.
    """
    parts = _ARGUMENT.split(candidate.template)
    pieces, names = parts[::2], parts[1::2]
    kinds = [type(candidate.converters.get(name)) for name in names]
    if (
        {*names} != {*arguments}
        or any(kind not in ARGUMENTS for kind in kinds)
        or any("%" in piece for piece in pieces)
        or pieces[0].startswith("//")
        or (pieces[0] == "/" and kinds and kinds[0] is urls.converters.PathConverter)
    ):
        return None
    expected = re.escape(pieces[0])
    for name, piece in zip(names, pieces[1:], strict=True):
        regex = candidate.converters[name].regex
        expected += f"(?P<{name}>{regex})" + re.escape(piece)
    actual = candidate.prefix + candidate.pattern
    if actual not in (rf"{expected}\Z", rf"{expected}\z"):
        return None
    numbers = map(arguments.index, names)
    places = zip(numbers, [ARGUMENTS[kind] for kind in kinds], strict=True)
    texts = [escape(quote(piece, safe=SAFE_IN_PATHS)) for piece in pieces]
    return PlainRoute(tuple(texts), tuple(places))
