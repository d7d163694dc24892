"""Checks that the URLs in indexes and in robots.txt lead to the views of this app."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from contextlib import suppress
from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage
from django.http import HttpResponse
from django.urls import NoReverseMatch, Resolver404, get_resolver, resolve, reverse

from django_sitemaps_plus import views
from django_sitemaps_plus.conf import (
    DEFAULT_SITE,
    SETTING,
    Site,
    get_settings,
    parse_base_url,
)
from django_sitemaps_plus.core.suggestions import suggest
from django_sitemaps_plus.exceptions import ConfigurationError
from django_sitemaps_plus.registry import registry
from django_sitemaps_plus.serving.robots_txt import robots_records
from django_sitemaps_plus.site_urls import index_url, page_url
from django_sitemaps_plus.sites import site_in_force
from django_sitemaps_plus.sources import surroundings
from django_sitemaps_plus.sources.route import resolver_of

from .examining import error, examining, warning
from .sites import for_each_site

_INCLUDE = 'path("", include("django_sitemaps_plus.urls"))'

#: What to do if another view answers.
PUT_FIRST = f"Put {_INCLUDE} before what answers it now"

#: The rule of sitemaps.org on the location of a sitemap.
_RULE = (
    "The protocol lets a sitemap list only URLs at or below its own directory: "
    '"A Sitemap file located at http://example.com/catalog/sitemap.xml can include any '
    'URLs starting with http://example.com/catalog/".'
)


@examining("the URLconf")
def check_urls(**kwargs: Any) -> list[CheckMessage]:
    """Return what keeps crawlers from the index and its pages."""
    if not getattr(settings, "ROOT_URLCONF", None) or has_only_views_of_contrib():
        return []
    with surroundings(Site(DEFAULT_SITE, "")):
        if not are_included():
            message = "The URLconf does not include the sitemaps."
            hint = (
                f"Add {_INCLUDE}, without a namespace. If views of your own call ours, "
            )
            return [warning(38, message, f"{hint}silence this.")]
        return list(_misplaced())


def _misplaced() -> Iterator[CheckMessage]:
    index = reverse("sitemaps_plus:index")
    begin = index.removesuffix("sitemap.xml")
    if not begin.endswith("/"):
        message = f"The index is at {index}, since include() was given a file's name."
        yield error(32, message, f"Write {_INCLUDE}.")
        return
    page = reverse("sitemaps_plus:page", args=[next(iter(registry), "pages"), 1])
    for view, path in ((views.index, index), (views.page, page)):
        if not is_answered_by(view, path):
            message = f"{path} leads to {_answer(path)}, not to the sitemaps."
            yield error(31, message, f"{PUT_FIRST}.")
            return
    if begin != "/":
        hint = f"Write {_INCLUDE} in urlpatterns, outside of i18n_patterns()."
        yield warning(31, f"Sitemaps are below {begin}. {_RULE}", hint)


def are_included() -> bool:
    """Return whether the URLconf includes our URLs, at the root or elsewhere."""
    try:
        reverse("sitemaps_plus:index")
    except NoReverseMatch:
        return False
    return True


def no_url(message: str, hint: str) -> CheckMessage:
    """Return a fault that keeps a name from being reversed.

    A URLconf without our URLs may be that of other tests, which it must not stop.
    """
    if are_included():
        return error(21, message, hint)
    return warning(59, message, hint)


def has_only_views_of_contrib() -> bool:
    """Return whether the project uses the views in the place of contrib's, no more."""
    if len(registry) or not getattr(settings, "ROOT_URLCONF", None):
        return False
    module, is_view = "django_sitemaps_plus.contrib.views", get_resolver()._is_callback
    return is_view(f"{module}.sitemap") or is_view(f"{module}.index")


def is_answered_by(view: Callable[..., HttpResponse], path: str) -> bool:
    """Return whether a path leads to a view."""
    try:
        return resolve(path).func is view
    except Resolver404:
        return False


def _answer(path: str) -> str:
    with suppress(Resolver404):
        return resolve(path)._func_path
    return "no view"


def explain_reverse(name: str, arguments: Collection[str]) -> tuple[str, str]:
    """Return which of the name and the arguments of a URL is wrong, and a hint."""
    taken: list[Any] = []
    with suppress(NoReverseMatch):
        resolver, view = resolver_of(name)
        for forms, *_ in resolver.reverse_dict.getlist(view):
            taken += [sorted(params) for _, params in forms]
    if not taken:
        names = sorted(_names(get_resolver()))
        same = " or ".join([repr(it) for it in names if it.endswith(f":{name}")])
        hint = suggest(name, names, "Compare it with the names in the URLconf.")
        hint = f"Did you mean {same}?" if same else hint
        return f"no pattern is named {name!r}", hint
    if sorted(arguments) in taken:
        return "its arguments have values that do not fit", ""
    options = [", ".join(params) or "no arguments" for params in taken]
    reason = (
        f"{name!r} takes {' or '.join(options)}, not {', '.join(arguments) or 'none'}"
    )
    return reason, "Give it what its pattern takes."


def _names(resolver: Any, prefix: str = "") -> Iterator[str]:
    yield from [prefix + it for it in resolver.reverse_dict if isinstance(it, str)]
    for namespace, (_, below) in resolver.namespace_dict.items():
        yield from _names(below, f"{prefix}{namespace}:")


_ROBOTS = f"{SETTING}['ROBOTS']"

# Any address does: what matters is the path under which the project lives.
_ANYWHERE = "https://site.invalid"


@for_each_site
@examining("robots.txt")
def check_robots(**kwargs: Any) -> list[CheckMessage]:
    """Return what is wrong with the setting ROBOTS, and nothing where it is not set."""
    if get_settings().robots is None or not getattr(settings, "ROOT_URLCONF", None):
        return []
    messages = list(_faults())
    try:
        base_url = get_settings().base_url or _ANYWHERE
        site = site_in_force() or parse_base_url(base_url)
    except ConfigurationError:
        return messages  # another check says so
    return [*messages, *_forbidden(site), *_misplaced_robots(site)]


def _faults() -> Iterator[CheckMessage]:
    for fault in robots_records().faults:
        yield error(24, f"{fault}.", "robots.txt is served without it. Correct it.")


def _forbidden(site: Site) -> Iterator[CheckMessage]:
    for group in robots_records().groups:
        if not group.allow and not group.allows("/"):
            continue  # it is closed on purpose
        if path := next((p for p in _paths(site) if not group.allows(p)), None):
            yield warning(
                20,
                f"robots.txt disallows {path} for {', '.join(group.agents)}, so "
                "crawlers cannot read the sitemaps that it names.",
                f"Allow it in {_ROBOTS}['RULES'], as with 'ALLOW': ['/sitemap'].",
            )


def _paths(site: Site) -> list[str]:
    """Return the paths of the index and of one page of each section."""
    try:
        urls = [index_url(site), *[page_url(name, 1, site) for name in registry]]
    except NoReverseMatch:
        return []  # another check says so
    return [url.removeprefix(site.origin) for url in urls]


def _misplaced_robots(site: Site) -> Iterator[CheckMessage]:
    if site.script_prefix != "/" or not is_answered_by(views.text_file, "/robots.txt"):
        message = f"{_ROBOTS} is set, but this app does not answer /robots.txt at the "
        message += "root of the host, the only place where crawlers read it."
        hint = f"{PUT_FIRST}, or serve the same text there, and leave ROBOTS out."
        yield warning(21, message, hint)
