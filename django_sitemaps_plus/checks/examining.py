"""Messages of checks, and examining code of the project for them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator, Iterable, Iterator
from functools import partial, wraps
from traceback import walk_tb
from typing import Any

from django.apps import apps
from django.core import checks
from django.core.checks import CheckMessage
from django.core.exceptions import EmptyResultSet
from django.db import Error
from django.db.models import Model

from django_sitemaps_plus.conf import in_force
from django_sitemaps_plus.core.suggestions import suggest
from django_sitemaps_plus.exceptions import SourceError
from django_sitemaps_plus.sites import sites_of_settings
from django_sitemaps_plus.sources.dependencies import is_unknown_field
from django_sitemaps_plus.tracking.relations import is_model


def error(number: int, message: str, hint: str) -> checks.CheckMessage:
    """Return a fault that keeps the app from working."""
    return _message(checks.ERROR, f"E{number:03}", message, hint)


def warning(number: int, message: str, hint: str) -> checks.CheckMessage:
    """Return a fault with which the app works less well."""
    return _message(checks.WARNING, f"W{number:03}", message, hint)


def _message(level: int, code: str, message: str, hint: str) -> checks.CheckMessage:
    hint = f"{hint} See: manage.py sitemap_doctor --explain {code}"
    return checks.CheckMessage(level, message, hint, id=f"sitemaps_plus.{code}")


def reason_and_remedy(fault: Exception) -> tuple[str, str]:
    """Return what an error says, and its last sentence."""
    reason, _, remedy = str(fault).rpartition(". ")
    return f"{reason}.", remedy


#: The messages of a check, or of a part of one.
Faults = Iterator[CheckMessage]
Check = Callable[..., list[CheckMessage]]

_NOT_OF_PROJECTS = {"django", "django_sitemaps_plus", *sys.stdlib_module_names}


def examined(
    messages: Iterable[CheckMessage], subject: str = "it", *, is_declared: bool = False
) -> Generator[CheckMessage, None, Any]:
    """Yield messages, and what is raised meanwhile; return what a generator returns.

    A query that is empty by construction, and a database that is empty yet or down, are
    no faults. While declared values alone are looked at, what was raised without code
    of the project is the fault of such a value.
    """
    try:
        return (yield from messages)
    except Exception as raised:  # noqa: BLE001 - it is the project's code
        cause = raised.__cause__ if isinstance(raised, SourceError) else None
        fault = cause or raised
        if not isinstance(fault, Error | EmptyResultSet):
            words = f"{type(fault).__name__}: {fault}".partition("\n")[0]
            is_wrong = is_unknown_field(fault)
            is_wrong = is_wrong or (is_declared and not is_of_project(fault))
            yield (unreadable if is_wrong else unexamined)(words, subject)
        return None


declared = partial(examined, is_declared=True)


def examining(subject: str) -> Callable[[Callable[..., Faults]], Check]:
    """Let a whole check warn of what code of the project raises in it."""

    def decorate(check: Callable[..., Faults]) -> Check:
        @wraps(check)
        def run(**kwargs: Any) -> list[CheckMessage]:
            return list(examined(check(**kwargs), subject))

        return run

    return decorate


def for_each_site(check: Check) -> Check:
    """Let a check look at the settings of each site; each message comes once."""

    @wraps(check)
    def run(**kwargs: Any) -> list[CheckMessage]:
        messages: list[CheckMessage] = []
        for site in sites_of_settings():
            with in_force(site):
                messages += [it for it in check(**kwargs) if it not in messages]
        return messages

    return run


def unreadable(reason: str, subject: str = "it") -> CheckMessage:
    """Return the error of a source whose queries or declarations cannot work."""
    hint = "Try its queryset and the expressions it declares in a shell."
    return error(23, f"{subject} cannot be read: {reason}", hint)


def unexamined(reason: str, subject: str = "it") -> CheckMessage:
    """Return the warning of what may work elsewhere, or at another time."""
    hint = (
        "Nothing is wrong if it needs rows, a service or a request that are not here; "
        "sitemap_doctor looks again where they are. Else mend it."
    )
    return warning(37, f"{subject} could not be examined: {reason}", hint)


def no_model(given: Any) -> CheckMessage:
    """Return the error of what is no model, with the model that may be meant."""
    hint = "Name the model class whose rows it lists, such as model = Product."
    shown, labels = repr(given), [it._meta.label for it in apps.get_models()]
    if isinstance(given, list | tuple) and len(given) == 1:  # by a comma at its end
        [given] = given
    if isinstance(given, str):
        name = given.rpartition(".")[2].lower()
        same = [it for it in labels if it.rpartition(".")[2].lower() == name]
        hint = f"Write model = {same[0]!r}." if same else suggest(given, labels, hint)
    elif is_model(given):
        hint = f"Write model = {given.__name__}."
    elif isinstance(given, type) and issubclass(given, Model):
        shown = f"{given.__name__}, which is abstract"
    elif is_model(kind := getattr(given, "model", type(given))):
        shown = f"a {type(given).__name__} and no class"  # a queryset would be read
        hint = f"Write model = {kind.__name__}."
    return error(13, f"model is {shown}.", hint)


def is_of_project(fault: BaseException) -> bool:
    """Return whether an error came up in code of the project, or of its libraries."""
    names = [it.f_globals.get("__name__", "") for it, _ in walk_tb(fault.__traceback__)]
    return any(it.partition(".")[0] not in _NOT_OF_PROJECTS for it in names)
