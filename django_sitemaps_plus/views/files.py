"""Text files at the root of a site: robots.txt and key files, and their URLs.

Engines and the writer of robots.txt are imported where a project has them.
"""

from __future__ import annotations

import hashlib
import logging
from typing import cast

from django.core.exceptions import SuspiciousOperation
from django.http import Http404, HttpRequest, HttpResponse
from django.utils.cache import get_conditional_response

from django_sitemaps_plus.conf import get_settings, in_force
from django_sitemaps_plus.exceptions import ConfigurationError
from django_sitemaps_plus.sites import for_each, get_site, get_sites, sites_of_settings

from .responses import read_only

logger = logging.getLogger(__name__)


@read_only
def text_file(request: HttpRequest, name: str) -> HttpResponse:
    """Answer with robots.txt, always 200, or with a file that an engine looks for.

    Both are those of the site of the request.
    """
    try:
        site = get_site(request)
    except (Http404, SuspiciousOperation):
        raise
    except Exception:  # noqa: BLE001 - what needs it says why
        site = None
    with in_force(site):
        if name == "robots.txt" and get_settings().robots is not None:
            from django_sitemaps_plus.serving.robots_txt import render_site_robots

            content = render_site_robots(request)
        elif text := key_files().get(name):
            content = text.encode()
        else:
            raise Http404("No such file")

    body = b"" if request.method == "HEAD" else content
    response = HttpResponse(body, content_type="text/plain; charset=utf-8")
    response["Content-Length"] = str(len(content))
    response["ETag"] = f'"{hashlib.sha256(content).hexdigest()}"'
    response["Cache-Control"] = f"public, max-age={get_settings().client_cache_seconds}"
    return cast(
        HttpResponse,
        get_conditional_response(request, response["ETag"], response=response),
    )


def key_files() -> dict[str, str]:
    """Return the files that engines look for, of the site in force or of all, by name.

    The look never fails: any URL of a text file asks, and may be another view's.
    """
    files: dict[str, str] = {}
    # Without engines nothing is asked: the sites may be in the database.
    if not any(for_each(sites_of_settings(), lambda: get_settings().engines)):
        return files

    from django_sitemaps_plus.notifications.configuration import get_engines
    from django_sitemaps_plus.notifications.secrets import without_text

    try:
        for site in get_sites():
            with in_force(site):
                for engine in get_engines().values():
                    files.update(engine.files(site))
    except Exception as error:  # noqa: BLE001 - an engine may be the user's code
        is_ours = isinstance(error, ConfigurationError)
        why = str(error) if is_ours else without_text(error)
        action = {"action": "engines_failed"}
        logger.error("Key files are not known: %s", why, extra=action)
    return files


class RobotsConverter:
    """``robots.txt``, where ROBOTS is set."""

    regex = r"robots\.txt"

    def to_python(self, value: str) -> str:
        robots = for_each(sites_of_settings(), lambda: get_settings().robots)
        if all([it is None for it in robots]):
            raise ValueError("ROBOTS is not set")
        return value

    to_url = to_python


class KeyFileConverter:
    """The name of a file that a configured engine looks for."""

    regex = r"[A-Za-z0-9_-]{1,128}\.txt"

    def to_python(self, value: str) -> str:
        if value not in key_files():
            raise ValueError("no engine looks for such a file")
        return value

    to_url = to_python
