"""The views for monitors: whether all is well, and the numbers."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial, wraps
from typing import Any, TypeGuard

from django.core.exceptions import BadRequest, ImproperlyConfigured
from django.db import Error
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.utils.crypto import constant_time_compare
from django.views.decorators.cache import cache_control

from django_sitemaps_plus.diagnostics.answers import look_now_and_then
from django_sitemaps_plus.diagnostics.metrics import exposition
from django_sitemaps_plus.diagnostics.problems import problems_of
from django_sitemaps_plus.diagnostics.site_problems import as_seen, may_view
from django_sitemaps_plus.diagnostics.status import LATE, read_dashboard

from .conf import get_settings
from .exceptions import SitemapsPlusError
from .outages import in_one_line
from .sites import get_sites
from .views.responses import read_only

logger = logging.getLogger(__name__)

_OPENMETRICS = "application/openmetrics-text; version=1.0.0; charset=utf-8"
# Older scrapers ask for this type: the same text.
_PLAIN = "text/plain; version=0.0.4; charset=utf-8"

View = Callable[[HttpRequest], HttpResponse]


def _for_monitors(view: View) -> View:
    """Let those who have the token, or may see the dashboard, see a view.

    No cache keeps an answer. Where the state cannot be read it is a 503.
    """

    @cache_control(no_store=True)
    @wraps(view)
    def call(request: HttpRequest) -> Any:
        try:
            response: Any = _refusal(request) or view(request)
        except Error as error:
            # The error may name hosts and users, and the client may have no right yet.
            logger.error("%s", in_one_line(error), extra={"action": "state_unknown"})
            response = _unknown("The state is unknown: the database cannot be read.")
        except (SitemapsPlusError, ImproperlyConfigured) as error:
            response = _unknown(in_one_line(error))
        # Django would mail each 503 to ADMINS, as often as a monitor asks.
        response._has_been_logged = response.status_code >= 500
        return response

    return read_only(call)


@_for_monitors
def health(request: HttpRequest) -> HttpResponse:
    """Answer 200 where nothing needs a person, else 503, with what does.

    What waits for more than ``max_age`` seconds is a problem. Django is asked for the
    index at most once a minute; where that cannot be done, the state is unknown.
    Users without the token see values of rows of the models that they may view.
    """
    user: Any = getattr(request, "user", None)
    sites, text = get_sites(request), request.GET.get("max_age")
    if text is not None and not re.fullmatch("[0-9]{1,9}", text):
        raise BadRequest("max_age is not a number of seconds")
    max_age = LATE if text is None else int(text)
    answers = look_now_and_then(*sites)
    ids, words, are_known, is_well = list[str](), list[str](), True, True
    for status in read_dashboard(sites):
        status.answer = answers.get(status.site.name, status.answer)
        has_doubts = any(it.live_fault for it in status.sections)
        are_known &= status.is_known and not has_doubts
        for problem in problems_of(status, max_age=max_age):
            ids.append(problem.id)
            is_well &= problem.level != "error"
            if not _has_token(request):
                said = as_seen(problem.message, user, partial(may_view, user))
                problem = replace(problem, message=said)
            prefix = f"{status.site.name}: " if len(sites) > 1 else ""
            words.append(f"{prefix}{problem}")
    state = ("ok" if are_known else "unknown") if is_well else "problem"
    return _problems(state, ids, words)


@_for_monitors
def metrics(request: HttpRequest) -> HttpResponse:
    """Answer with the numbers of all sites, as OpenMetrics."""
    accept = request.META.get("HTTP_ACCEPT", "")
    is_old = "text/plain" in accept and "openmetrics" not in accept
    text = exposition(read_dashboard(get_sites(request)))
    return HttpResponse(text, _PLAIN if is_old else _OPENMETRICS)


def _problems(state: str, ids: Sequence[str], words: Sequence[str]) -> HttpResponse:
    content = {"status": state, "problems": words, "ids": ids}
    status, as_written = 503 if state == "problem" else 200, {"ensure_ascii": False}
    return JsonResponse(content, status=status, json_dumps_params=as_written)


def _unknown(words: str) -> HttpResponse:
    return _problems("problem", ["state_unknown"], [words])


def _refusal(request: HttpRequest) -> HttpResponse | None:
    """Return the answer to a client that may see nothing; None for one that may."""
    if _has_token(request):
        return None
    header = request.headers.get("Authorization", "")
    user: Any = getattr(request, "user", None)
    if not header and not (user and user.is_authenticated):
        return HttpResponse(status=401, headers={"WWW-Authenticate": "Bearer"})
    is_staff = user and user.is_active and getattr(user, "is_staff", False)
    is_allowed = is_staff and user.has_perm("sitemaps_plus.view_dashboard")
    return None if is_allowed else HttpResponse(status=403)


def _has_token(request: HttpRequest) -> bool:
    """Return whether a client is the operator, who may see everything."""
    token, headers = get_settings().monitoring_token, request.headers
    scheme, _, given = headers.get("Authorization", "").partition(" ")
    return (
        scheme.lower() == "bearer"
        and is_token(token)
        and constant_time_compare(given.strip(), token)
    )


def is_token(value: object) -> TypeGuard[str]:
    """Return whether a value can be sent in a header, and is not soon guessed."""
    return isinstance(value, str) and bool(re.fullmatch("[!-~]{16,}", value))
