"""Checks of what crawlers and engines find: URLs, robots.txt, keys, lastmods."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import suppress
from typing import Any

from django import urls
from django.conf import settings
from django.core.checks import CheckMessage
from django.db import Error
from django.db.models import DateField, DateTimeField, Model, Value
from django.http import HttpResponse
from django.urls import NoReverseMatch, Resolver404

from django_sitemaps_plus import conf, site_urls, sites, views
from django_sitemaps_plus.conf import get_settings, is_test_run, site_in_force
from django_sitemaps_plus.core.suggestions import suggest
from django_sitemaps_plus.diagnostics.configuration import settings_faults
from django_sitemaps_plus.exceptions import ConfigurationError
from django_sitemaps_plus.models import Page
from django_sitemaps_plus.notifications import Takes
from django_sitemaps_plus.notifications.configuration import get_engines
from django_sitemaps_plus.registry import registry
from django_sitemaps_plus.serving.robots_txt import robots_records
from django_sitemaps_plus.sources import (
    ModelSource,
    Route,
    SitemapSource,
    ViewSource,
    surroundings,
)
from django_sitemaps_plus.sources.compiling import find_field
from django_sitemaps_plus.sources.route import resolver_of

from .examining import Faults, error, examined, examining, for_each_site, warning

_INCLUDE = 'path("", include("django_sitemaps_plus.urls"))'

#: The remedy if another view answers.
PUT_FIRST = f"Put {_INCLUDE} before what answers it now"

#: The rule of sitemaps.org on the location of a sitemap.
_RULE = (
    "The protocol lets a sitemap list only URLs at or below its own directory: "
    '"A Sitemap file located at http://example.com/catalog/sitemap.xml can include any '
    'URLs starting with http://example.com/catalog/".'
)

# The address does not matter, only the path under which the project lives.
_ANYWHERE = "https://site.invalid"


@examining("the URLconf")
def check_urls(**kwargs: Any) -> Faults:
    """Yield what keeps crawlers from the index and its pages."""
    if not getattr(settings, "ROOT_URLCONF", None) or has_only_views_of_contrib():
        return
    with surroundings(conf.Site(conf.DEFAULT_SITE, "")):
        if not are_included():
            message = "The URLconf does not include the sitemaps."
            hint = (
                f"Add {_INCLUDE}, without a namespace. If views of your own call ours, "
                "silence this."
            )
            own = ":sitemaps_plus:index"
            names = [f":{it}" for it in _names(urls.get_resolver())]
            for name in [it for it in names if it.endswith(own)]:
                around = name.removesuffix(own).removeprefix(":")
                around = (
                    f"the namespace {around!r}" if around else "a prefix that varies"
                )
                message = f"Sitemaps are included inside {around}, so nothing finds "
                message += "their URLs."
                hint = f"Write {_INCLUDE} in urlpatterns of {settings.ROOT_URLCONF}, "
                hint += "outside of it."
            yield warning(38, message, hint)
            return
        index = urls.reverse("sitemaps_plus:index")
        begin = index.removesuffix("sitemap.xml")
        if not begin.endswith("/"):
            message = f"The index is at {index}, since path() of its include() names "
            yield error(32, f"{message}no directory.", f"Write {_INCLUDE}.")
            return
        first = next(iter(registry), "pages")
        page = urls.reverse("sitemaps_plus:page", args=[first, 1])
        for view, path in ((views.index, index), (views.page, page)):
            if not is_answered_by(view, path):
                answer = "no view"
                with suppress(Resolver404):
                    answer = urls.resolve(path)._func_path
                message = f"{path} leads to {answer}, not to the sitemaps."
                yield error(31, message, f"{PUT_FIRST}.")
                return
        if begin != "/":
            message = f"The index is at {index}. "
            root = index.removeprefix(begin.rstrip("/"))
            if is_answered_by(views.index, root):
                hint = f"They are included twice: remove the include below {begin}, or "
                hint += "put it after the one at the root."
            else:
                message += f"Nothing of this app answers {root}. "
                hint = f"Write {_INCLUDE} in urlpatterns, outside of i18n_patterns() "
                hint += "and of any prefix."
            yield warning(31, f"{message}{_RULE}", hint)


def are_included() -> bool:
    """Return whether the URLconf includes our URLs, at the root or elsewhere."""
    with suppress(NoReverseMatch):
        urls.reverse("sitemaps_plus:index")
        return True
    return False


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
    module = "django_sitemaps_plus.contrib.views"
    is_view = urls.get_resolver()._is_callback
    return is_view(f"{module}.sitemap") or is_view(f"{module}.index")


def is_answered_by(view: Callable[..., HttpResponse], path: str) -> bool:
    """Return whether a path leads to a view."""
    with suppress(Resolver404):
        return urls.resolve(path).func is view
    return False


def explain_reverse(name: str, arguments: Collection[str]) -> tuple[str, str]:
    """Return which of the name and the arguments of a URL is wrong, and a hint."""
    taken = _taken(name)
    if not taken:
        names = sorted(_names(urls.get_resolver()))
        same = " or ".join([repr(it) for it in names if it.endswith(f":{name}")])
        hint = suggest(name, names, "Compare it with the names in the URLconf.")
        hint = f"Did you mean {same}?" if same else hint
        return f"no pattern is named {name!r}", hint
    if sorted(arguments) in taken:
        return "its arguments have values that do not fit", ""
    options = [", ".join(params) or "no arguments" for params in taken]
    given = ", ".join(arguments) or "none"
    reason = f"{name!r} takes {' or '.join(options)}, not {given}"
    return reason, "Give it what its pattern takes."


def route_to(name: str, model: type[Model]) -> str:
    """Return how to declare a route to a pattern from rows; "" if there is none."""
    for names in _taken(name)[:1]:
        paths = {it: it if find_field(model, it) else "..." for it in names}
        given = "".join([f', {it}="{path}"' for it, path in paths.items()])
        return f'Route("{name}"{given})'
    return ""


def _taken(name: str) -> list[list[str]]:
    """Return the arguments that each pattern of a name takes."""
    taken: list[list[str]] = []
    with suppress(NoReverseMatch):
        resolver, view = resolver_of(name)
        for forms, *_ in resolver.reverse_dict.getlist(view):
            taken += [sorted(params) for _, params in forms]
    return taken


def _names(resolver: Any, prefix: str = "") -> Iterator[str]:
    yield from [prefix + it for it in resolver.reverse_dict if isinstance(it, str)]
    for namespace, (_, below) in resolver.namespace_dict.items():
        yield from _names(below, f"{prefix}{namespace}:")


def check_view(source: ViewSource, view: Any) -> Faults:
    """Yield why one of the views has no URL."""
    if type(source).location is not ViewSource.location:
        source.location(view)
        return
    try:
        name, arguments = (view, {}) if isinstance(view, str) else view
    except (TypeError, ValueError):
        hint = 'Write "home", or ("post", {"slug": "first"}).'
        yield error(33, f"views has {view!r}, neither a name nor a pair.", hint)
        return
    if not isinstance(arguments, Mapping):
        hint = f'Write ({name!r}, {{"slug": "first"}}), with the names of its pattern.'
        yield error(33, f"views has {view!r}, whose arguments are no dict.", hint)
        return
    try:
        source.location(view)
    except NoReverseMatch as fault:
        reason, hint = explain_reverse(name, arguments)
        yield no_url(f"view {view!r} has no URL: {reason}.", hint or f"{fault}")


def check_location(source: ModelSource) -> Faults:
    """Yield that rows have no location, or all the same."""
    location, model = source.location, source.model
    if location is None and not hasattr(model, "get_absolute_url"):
        label = model._meta.label
        hint = 'Declare one, such as location = Route("product-detail", slug="slug").'
        yield error(20, f"it has no location, and {label} no get_absolute_url().", hint)
    is_route = isinstance(location, Route)
    if is_route and not location.compile().can_match:
        reason, hint = explain_reverse(location.name, location.arguments)
        if route := route_to(location.name, model):
            hint = f"Write {route}."
        yield no_url(f"no URL pattern fits {location!r}: {reason}.", hint)
        return
    parts = location.arguments.values() if is_route else [location]
    if all(isinstance(it, Value) for it in parts):
        message = f"location is {location!r}, the same URL for each row."
        hint = "Name what tells rows apart, or list this page by a ViewSource."
        yield warning(39, message, hint)


@for_each_site
@examining("robots.txt")
def check_robots(**kwargs: Any) -> Faults:
    """Yield what is wrong with the setting ROBOTS, and nothing where it is not set."""
    if get_settings().robots is None or not getattr(settings, "ROOT_URLCONF", None):
        return
    name, records = conf.setting_name("ROBOTS"), robots_records()
    for fault in records.faults:
        hint = "robots.txt is served without it. Correct it."
        yield error(24, f"{fault}.", hint)
    # Other checks report a wrong BASE_URL, and URLs that cannot be reversed.
    try:
        base_url = get_settings().base_url or _ANYWHERE
        site = site_in_force() or sites.parse_base_url(base_url)
    except ConfigurationError:
        return
    paths: list[str] = []
    with suppress(NoReverseMatch):
        pages = [site_urls.page_url(name, 1, site) for name in registry]
        listed = [site_urls.index_url(site), *pages]
        paths = [url.removeprefix(site.origin) for url in listed]

    for group in records.groups:
        is_closed = not group.allow and not group.allows("/")  # on purpose
        path = next((it for it in paths if not group.allows(it)), None)
        if path and not is_closed:
            message = f"robots.txt disallows {path} for {', '.join(group.agents)}, so "
            message += "crawlers cannot read the sitemaps that it names."
            hint = f"Allow it in {name}['RULES'], as with 'ALLOW': ['/sitemap']."
            yield warning(20, message, hint)
    if site.script_prefix != "/" or not is_answered_by(views.text_file, "/robots.txt"):
        message = f"{name} is set, but this app does not answer /robots.txt at the "
        message += "root of the host, the only place where crawlers read it."
        hint = f"{PUT_FIRST}, or serve the same text there, and leave {name} out."
        yield warning(21, message, hint)


@for_each_site
@examining("the engines")
def check_engines(**kwargs: Any) -> Faults:
    """Yield what is wrong with the engines, without a request to any of them.

    The name of a file that an engine looks for may be its key: no message has it.
    """
    yield from _broken(is_lack=False)
    yield from examined(_unannounced_saves(), "the engines")

    configured = get_settings()
    has_urls = getattr(settings, "ROOT_URLCONF", None) and are_included()
    # The site may also be in the database, which this check does not read.
    origin = configured.base_url or site_in_force()
    if configured.notify is False or not origin or not has_urls:
        return
    for engine in get_engines().values():
        paths: list[str] = []
        with suppress(Exception):  # it may be the user's, and its view logs this
            paths = [f"/{name}" for name in engine.files(sites.get_site())]
        if not all([is_answered_by(views.text_file, path) for path in paths]):
            yield warning(
                11,
                f"The engine {engine.name!r} looks for its key file at the root of the "
                "site, where this app does not serve it.",
                f"{PUT_FIRST}, or have files() return a name of A-Z, a-z, 0-9, '_' "
                "and '-' before .txt.",
            )


@for_each_site
def check_keys(**kwargs: Any) -> list[CheckMessage]:
    """Return what engines lack in this environment: keys, files, options."""
    return _broken(is_lack=True)


def _broken(*, is_lack: bool) -> list[CheckMessage]:
    faults = [it for it in settings_faults() if it.engine and it.is_lack == is_lack]
    return [error(it.number, it.message, it.remedy) for it in faults]


def _urls_are_submitted() -> bool:
    takes = [engine.takes for engine in get_engines().values()]
    return Takes.URLS in takes and get_settings().notify is not False


def _unannounced_saves() -> Faults:
    """Yield sections whose lastmod does not show every edit, as far as can be seen."""
    for name, source in registry.items() if _urls_are_submitted() else ():
        fault = ""
        if isinstance(source, SitemapSource):
            fault = "" if source.may_have_lastmod else "no lastmod"
        elif isinstance(source, ModelSource) and not source.announce_saves:
            path = source.lastmod
            field = find_field(source.model, path) if isinstance(path, str) else None
            if path is None:
                fault = "no lastmod"
            elif isinstance(field, DateField) and not isinstance(field, DateTimeField):
                fault = "a lastmod without a time"
        if fault:
            yield warning(
                6,
                f"Section {name!r} has {fault}, so engines are notified when its rows "
                "are added, moved or removed, but not of every edit.",
                "Declare a lastmod with a time, or set announce_saves = True on a "
                "ModelSource to submit every save.",
            )


@examining("the sections")
def check_built(databases: Collection[str] | None = None, **kwargs: Any) -> Faults:
    """Yield the sections whose removals engines miss, since they have no pages.

    The check reads the database, so it runs only where the command names one.
    """
    is_asked = Page.objects.db in (databases or ())
    if settings.DEBUG or is_test_run() or not is_asked or not _urls_are_submitted():
        return
    try:
        built = set(Page.objects.values_list("section__name", flat=True).distinct())
    except Error:  # not migrated yet
        return
    for name in [name for name in registry if name not in {*built, *registry.live()}]:
        yield warning(
            7,
            f"Section {name!r} is not built, so engines are notified of saved rows, "
            "but neither of removed rows nor of the former URLs of moved ones.",
            "Build it with manage.py build_sitemaps or in workers.",
        )
