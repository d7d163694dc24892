"""The views of text files at the root of a site: robots.txt and key files."""

from __future__ import annotations

import hashlib
import logging

from django.http import Http404, HttpRequest, HttpResponse
from django.utils.cache import get_conditional_response

from django_sitemaps_plus.conf import get_settings, get_site
from django_sitemaps_plus.exceptions import ConfigurationError
from django_sitemaps_plus.notifications.configuration import get_engines
from django_sitemaps_plus.notifications.secrets import without_text
from django_sitemaps_plus.serving.robots_txt import render_site_robots

from .responses import read_only

logger = logging.getLogger(__name__)


@read_only
def text_file(request: HttpRequest, name: str) -> HttpResponse:
    """Answer with robots.txt, always 200, or with a file that an engine looks for."""
    if name == "robots.txt":
        content = render_site_robots(request)
    elif name in (files := key_files()):
        content = files[name].encode()
    else:
        raise Http404("No such file")
    etag = f'"{hashlib.sha256(content).hexdigest()}"'
    response = get_conditional_response(request, etag)
    if response is None:
        response = HttpResponse(
            b"" if request.method == "HEAD" else content,
            content_type="text/plain; charset=utf-8",
        )
        response["Content-Length"] = str(len(content))
    response["ETag"] = etag
    response["Cache-Control"] = f"public, max-age={get_settings().client_cache_seconds}"
    return response


def key_files() -> dict[str, str]:
    """Return the files that the configured engines look for, by name.

    It never fails: any URL of a text file asks, and may be another view's.
    """
    files: dict[str, str] = {}
    try:
        if engines := get_engines():
            site = get_site()
            for engine in engines.values():
                files.update(engine.files(site))
    except Exception as error:  # noqa: BLE001 - an engine may be the user's code
        is_ours = isinstance(error, ConfigurationError)
        why = str(error) if is_ours else without_text(error)
        action = {"action": "engines_failed"}
        logger.error("Key files are not known: %s", why, extra=action)
    return files
