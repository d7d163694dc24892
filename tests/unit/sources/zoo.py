"""A zoo of URL patterns, and hostile values for their arguments."""

import random
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from decimal import Decimal
from typing import Any

from django.conf.urls.i18n import i18n_patterns
from django.urls import (
    URLPattern,
    URLResolver,
    get_script_prefix,
    include,
    path,
    re_path,
    register_converter,
    set_script_prefix,
    set_urlconf,
)
from django.urls.converters import StringConverter
from django.utils import translation
from django.utils.functional import lazy, lazystr
from django.utils.safestring import mark_safe
from django.utils.translation import get_language

URLConf = tuple[URLPattern | URLResolver, ...]


class HexConverter:
    """Numbers as hexadecimal digits; text is a ValueError, which means no match."""

    regex = "[0-9a-f]+"

    def to_python(self, value: str) -> int:
        return int(value, 16)

    def to_url(self, value: Any) -> str:
        return f"{value:x}"


class ShoutConverter(StringConverter):
    """Looks like Django's own, and writes something else."""

    def to_url(self, value: Any) -> str:
        return str(value).upper()


register_converter(HexConverter, "sitemaps_plus_hex")
register_converter(ShoutConverter, "sitemaps_plus_shout")


def view(request: object) -> None:
    """Stand in for any view."""


def translated() -> str:
    return "benutzer/<slug:a>/" if get_language() == "de" else "users/<slug:a>/"


shop = ([path("", view, name="home"), path("<slug:a>/", view, name="item")], "shop")
stall = ([path("<slug:a>/", view, name="item")], "stall")
inner = ([path("<slug:a>/<int:b>/", view, name="item")], "inner")
outer = ([path("in-<int:i>/", include(inner)), path("", include(shop))], "outer")
rules = ([re_path(r"^(?P<a>[^/]+)$", view, name="item")], "rules")
flat = ([path("flat/<slug:a>/", view, name="item")], "flat")

CONVERTERS = [
    path("", view, name="root"),
    path("plain/", view, name="plain"),
    path("any/<a>/", view, name="untyped"),
    path("str/<str:a>/", view, name="str"),
    path("int/<int:a>/", view, name="int"),
    path("slug/<slug:a>/", view, name="slug"),
    path("uuid/<uuid:a>/", view, name="uuid"),
    path("path/<path:a>", view, name="path"),
    path("path-then/<path:a>/end/", view, name="path-then"),
    path("two/<slug:a>/<int:b>/", view, name="two"),
    path("swapped/<int:b>/x<slug:a>.html", view, name="swapped"),
    path("hex/<sitemaps_plus_hex:a>/", view, name="hex"),
    path("shout/<sitemaps_plus_shout:a>/", view, name="shout"),
    path("<path:a>", view, name="bare-path"),
    path("<str:a>", view, name="bare-str"),
    path("/absolute/<str:a>", view, name="absolute"),
    path("100%/<str:a>/%s/%(a)s/", view, name="percent"),
    path("200%%/<str:a>/", view, name="percents"),
    path("b\u00fccher/\u2603/\u05d0/<slug:a>/", view, name="non-ascii"),
    path("quo'te\"&<>/<slug:a>", view, name="quotes"),
    path("what?/<slug:a>/#there", view, name="marks"),
    path("LASTMOD/<slug:a>/LOCATION/", view, name="words"),
    path("default/<int:a>/", view, {"b": 1}, name="default"),
    path("both/<int:a>/", view, {"a": 1}, name="both"),
    path("twice/<int:a>/", view, name="twice"),
    path("twice/<slug:a>/", view, name="twice"),
    path("twice/<slug:a>/<int:b>/", view, name="twice"),
]
EXPRESSIONS = [
    re_path(r"^re/named/(?P<a>[0-9]{4})/(?P<b>[a-z]+)/$", view, name="re-named"),
    re_path(r"^re/class/(?P<a>[\w\s%'\"-]+)/$", view, name="re-class"),
    re_path(r"^re/either/(?P<a>cat|dog|b\u00fcro)/$", view, name="re-either"),
    re_path(r"^re/optional/(?:page-(?P<a>[0-9]+)/)?$", view, name="re-optional"),
    re_path(r"^re/inner/(?:x|y)/(?P<a>.+)$", view, name="re-inner"),
    re_path(r"^re/any/(?P<a>.*)$", view, name="re-any"),
    re_path(r"^re/open/(?P<a>\d+)", view, name="re-open"),
    re_path(r"^re/unnamed/([0-9]+)/$", view, name="re-unnamed"),
    re_path(r"^re/nested/(?P<a>(?P<b>\w+)-\w+)/$", view, name="re-nested"),
    re_path(r"^re/times/a*b{2}(?P<a>[ab]+)$", view, name="re-times"),
    re_path(r"^re/not/(?!x)(?P<a>\w+)$", view, name="re-not"),
]
INCLUDES = [
    path(
        "inc/<int:a>/",
        include(
            [
                path("x/<slug:b>/", view, name="included"),
                re_path(r"^y/", include([path("<path:c>", view, name="deep")])),
            ]
        ),
    ),
    re_path(r"^rules/(?P<r>[a-z%]+)/", include(rules)),
    path("shop/", include(shop)),
    path("other-shop/<int:n>/", include(shop, namespace="other")),
    path("stall-1/", include(stall, namespace="one")),
    path("stall-2/<str:n>/", include(stall, namespace="two")),
    path("outer/<str:o>/", include(outer)),
    path("", include(flat)),
]
ZOO: URLConf = (*CONVERTERS, *EXPRESSIONS, *INCLUDES)

#: Name of a pattern, and the arguments to reverse it with.
CASES: tuple[tuple[str, str], ...] = (
    *(("root", ""), ("plain", ""), ("untyped", "a"), ("str", "a"), ("int", "a")),
    *(("slug", "a"), ("uuid", "a"), ("path", "a"), ("path-then", "a"), ("two", "ab")),
    *(("two", "ba"), ("swapped", "ab"), ("hex", "a"), ("shout", "a")),
    *(("bare-path", "a"), ("bare-str", "a"), ("absolute", "a")),
    *(("non-ascii", "a"), ("quotes", "a"), ("marks", "a"), ("words", "a")),
    *(("default", "a"), ("default", "ab"), ("both", "a"), ("twice", "ab")),
    *(("twice", "a"), ("re-named", "ab"), ("re-class", "a"), ("re-either", "a")),
    *(("re-optional", ""), ("re-optional", "a"), ("re-any", "a"), ("re-open", "a")),
    *(("re-nested", "a"), ("re-times", "a"), ("re-not", "a"), ("included", "ab")),
    *(("deep", "ac"), ("rules:item", "ra"), ("shop:home", ""), ("shop:item", "a")),
    *(("stall:item", "na"), ("one:item", "a"), ("two:item", "na")),
    *(("other:item", "na"), ("other:home", "n")),
    *(("outer:inner:item", "oiab"), ("outer:shop:item", "oa"), ("flat:item", "a")),
)

#: Names that are not there, or not with these arguments, or that Django cannot write:
#: a percent sign in a pattern, an alternation outside of groups, a group in a group.
MISSING: tuple[tuple[str, str], ...] = (
    *(("percent", "a"), ("percents", "a"), ("re-inner", "a"), ("re-nested", "ab")),
    *(("re-unnamed", ""), ("re-unnamed", "a"), ("stall:item", "a")),
    *(("nowhere", "a"), ("nowhere:item", "a"), ("shop:nothing", ""), ("int", "")),
    *(("int", "ab"), ("shop:item:item", "a"), ("plain", "a"), ("inner:item", "oiab")),
)


def in_languages(prefix_default_language: bool) -> URLConf:
    """Return a URLconf with a language in each path, or in all but one."""
    return (
        *i18n_patterns(
            path("about/<slug:a>/", view, name="about"),
            path(lazy(translated, str)(), view, name="users"),
            path("shop/<str:n>/", include(shop)),
            prefix_default_language=prefix_default_language,
        ),
        path("plain/<slug:a>/", view, name="no-language"),
    )


I18N_CASES = (
    *(("about", "a"), ("users", "a"), ("shop:item", "na"), ("shop:home", "n")),
    ("no-language", "a"),
)

TEXTS = (
    *("a", "slug-1", "Caf\u00e9", "abc_DEF", "0", "7", "2026", "cat", "dog", "a-b"),
    *("", " ", "  x", "a b", "%", "%%", "%41", "%zz", "100%", "%s", "%(a)s", "?", "#"),
    *("/", "//", "a//b", "//evil.example", "/a", "a/", ".", "..", "a/../b", "\\1"),
    *("<b>", "&amp;", "[x]", "{x}", *"'\"\\&;=+$^(~*"),
    *("\n", "a\n", "\r\n", "\t", "\x00", "\x1f", "\x85", "\u2028", "\ud800", "\udfff"),
    *("\u05e9\u05dc\u05d5\u05dd", "\u202e", "\U0001f600", "e\u0301", "\u0660\u0661"),
    *("b\u00fcro", "\u01c5", "x" * 300, "None", "1.0", "-1", "a.b", "a:b", "a@b", "ab"),
)
OTHERS = (
    *(None, True, False, 0, 1, 7, 2026, -1, -(10**30), 10**30, 2**64, 2**64 - 1),
    *(1.5, float("nan"), Decimal("1.50"), b"bytes", (), uuid.UUID(int=0)),
    *(uuid.UUID(int=2**128 - 1), mark_safe("safe&"), lazystr("lazy"), "x" * 3_000),
)


def value(rng: random.Random) -> Any:
    """Return a value: often a usual one, now and then a strange one."""
    kind = rng.random()
    if kind < 0.2:
        return rng.choice(OTHERS)
    if kind < 0.3:
        return rng.randrange(10_000)
    if kind < 0.4:
        return uuid.UUID(int=rng.getrandbits(128))
    return "".join(rng.choices(TEXTS, k=rng.choice((1, 1, 1, 2, 3))))


def usual_value(rng: random.Random, kind: type) -> Any:
    """Return a value of a kind, without a character that needs care."""
    if kind is int:
        return rng.choice((0, 1, 2**63 - 1, rng.randrange(10**9)))
    if kind is uuid.UUID:
        return uuid.UUID(int=rng.getrandbits(128))
    return "".join(rng.choices("abcXYZ019-_", k=rng.randint(1, 20)))


@contextmanager
def surroundings(
    urlconf: Sequence[Any], prefix: str = "/", language: str = "en-us"
) -> Iterator[None]:
    """Set URLconf, script prefix and language."""
    before = get_script_prefix()
    set_urlconf(urlconf)
    set_script_prefix(prefix)
    try:
        with translation.override(language):
            yield
    finally:
        set_urlconf(None)
        set_script_prefix(before)
