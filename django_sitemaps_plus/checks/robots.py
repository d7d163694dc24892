"""Checks of robots.txt: what it says, and whether a crawler finds it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage
from django.urls import NoReverseMatch, reverse

from django_sitemaps_plus import views
from django_sitemaps_plus.conf import SETTING, Site, get_settings, parse_base_url
from django_sitemaps_plus.core.robots import Group
from django_sitemaps_plus.exceptions import ConfigurationError
from django_sitemaps_plus.registry import registry
from django_sitemaps_plus.serving.rules import robots_records
from django_sitemaps_plus.sources import surroundings

from .messages import error, warning
from .urls import PUT_FIRST, is_answered_by

# Any address does: what matters is the path under which the project lives.
_ANYWHERE = "https://site.invalid"


def check_robots(**kwargs: Any) -> list[CheckMessage]:
    """Return what is wrong with the setting ROBOTS, and nothing where it is not set."""
    if get_settings().robots is None or not getattr(settings, "ROOT_URLCONF", None):
        return []
    try:
        site = parse_base_url(get_settings().base_url or _ANYWHERE)
    except ConfigurationError:
        return list(_faults())  # another check tells the rest
    return [*_faults(), *_forbidden(site), *_place(site)]


def _faults() -> Iterator[CheckMessage]:
    for fault in robots_records().faults:
        yield error(
            24,
            f"{fault}.",
            "Until it is mended, robots.txt is served without it.",
        )


def _forbidden(site: Site) -> Iterator[CheckMessage]:
    for group in robots_records().groups:
        if _is_closed(group):
            continue
        if path := next((p for p in _paths(site) if not group.allows(p)), None):
            yield warning(
                20,
                f"robots.txt disallows {path} for {', '.join(group.agents)}, so what "
                "it names is not read.",
                f"Allow it in {SETTING}['ROBOTS']['RULES'], as with "
                "'ALLOW': ['/sitemap'].",
            )


def _is_closed(group: Group) -> bool:
    """Return whether crawlers may fetch nothing at all, which is meant as it is."""
    return not group.allow and not group.allows("/")


def _paths(site: Site) -> list[str]:
    """Return the paths of the index and of one page of each section."""
    with surroundings(site):
        try:
            pages = [reverse("sitemaps_plus:page", args=[name, 1]) for name in registry]
            return [reverse("sitemaps_plus:index"), *pages]
        except NoReverseMatch:
            return []  # another check says so


def _place(site: Site) -> Iterator[CheckMessage]:
    hint = "Crawlers read /robots.txt at the root of a host only. "
    if site.script_prefix != "/":
        yield warning(
            21,
            f"The project lives under {site.script_prefix}, so its robots.txt is not "
            "at the root of the host.",
            hint + "Serve there what this one says, and leave ROBOTS out.",
        )
        return
    if not is_answered_by(views.robots, "/robots.txt"):
        yield warning(
            21,
            f"{SETTING}['ROBOTS'] is set, but /robots.txt is not answered by it.",
            f"{hint}{PUT_FIRST}, or leave ROBOTS out.",
        )
