"""Checks of robots.txt: what it says, and whether a crawler finds it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage
from django.urls import NoReverseMatch

from django_sitemaps_plus import views
from django_sitemaps_plus.conf import SETTING, Site, get_settings, parse_base_url
from django_sitemaps_plus.exceptions import ConfigurationError
from django_sitemaps_plus.registry import registry
from django_sitemaps_plus.serving.robots_txt import robots_records
from django_sitemaps_plus.site_urls import index_url, page_url
from django_sitemaps_plus.sites import site_in_force

from .examining import examining
from .messages import error, warning
from .sites import for_each_site
from .urls import PUT_FIRST, is_answered_by

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
    return [*messages, *_forbidden(site), *_misplaced(site)]


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


def _misplaced(site: Site) -> Iterator[CheckMessage]:
    if site.script_prefix != "/" or not is_answered_by(views.text_file, "/robots.txt"):
        message = f"{_ROBOTS} is set, but this app does not answer /robots.txt at the "
        message += "root of the host, the only place where crawlers read it."
        hint = f"{PUT_FIRST}, or serve the same text there, and leave ROBOTS out."
        yield warning(21, message, hint)
