"""T19: the page of an error shows no key of a service account, nor a part of it."""

from __future__ import annotations

import html
import json
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest
from django.test import RequestFactory
from django.views.debug import technical_500_response

from django_sitemaps_plus.exceptions import ConfigurationError, EngineError
from django_sitemaps_plus.notifications import Secret
from django_sitemaps_plus.notifications import http as our_http
from django_sitemaps_plus.notifications.configuration import (
    get_engines,
    hide_credentials,
)
from tests.support.batches import INDEX, SITE, make_batch
from tests.support.servers.engine import LocalEngine
from tests.support.servers.engine_faults import FAULTS
from tests.support.servers.service_account import make_service_account

from .tools.secrecy import OURS

#: How the key may be given.
FORMS: dict[str, Callable[[dict[str, Any]], Any]] = {
    "dict": dict,
    "text": json.dumps,
    "secret": lambda account: Secret(json.dumps(account)),
}

#: How it may be given in vain.
BROKEN: dict[str, Callable[[dict[str, Any]], Any]] = {
    "half of the text": lambda account: json.dumps(account)[:-40],
    "a list": lambda account: json.dumps([account]),
    "text with a mark before it": lambda account: "\ufeff" + json.dumps(account),
    "the key alone": lambda account: account["private_key"],
    "a dict without an address": lambda account: {**account, "client_email": None},
    "a key that is cut": lambda account: {
        **account,
        "private_key": account["private_key"][:-200],
    },
    "text of a key that is cut": lambda account: json.dumps(
        {**account, "private_key": account["private_key"][:-200]}
    ),
}


class Pages:
    """Errors, as Django shows them where DEBUG is on."""

    def __init__(self, server: LocalEngine, settings: Any) -> None:
        self._server = server
        self._settings = settings
        self._account = make_service_account(server.state)
        self.shown: list[str] = []

    def configure(self, form: Callable[[dict[str, Any]], Any]) -> None:
        """Have one engine with the key, as the app has it when it has begun."""
        options = {
            "credentials": form(self._account),
            "endpoint": f"{self._server.url}/webmasters/v3",
        }
        engine = {"BACKEND": f"{OURS}.SearchConsole", "OPTIONS": options}
        ours = {**self._settings.SITEMAPS_PLUS, "ENGINES": {"google": engine}}
        self._settings.SITEMAPS_PLUS = ours
        hide_credentials()

    def show(self, step: Callable[[], object]) -> None:
        """Do what may fail; keep the page of the error."""
        try:
            step()
        except (EngineError, ConfigurationError):
            response = technical_500_response(
                RequestFactory().get("/"), *sys.exc_info()
            )
            self.shown.append(html.unescape(response.content.decode()))

    def leaks(self) -> set[str]:
        """Return what is shown of the key, of signed claims and of tokens."""
        lines = self._account["private_key"].splitlines()[1:-1]
        heard = self._server.heard("token")
        claims = [request.body.partition("assertion=")[2] for request in heard]
        secrets = [*lines, *filter(None, claims), *self._server.state.tokens]
        return {s for s in secrets for page in self.shown if s in page}


@pytest.fixture
def pages(engine, settings, monkeypatch) -> Pages:
    """Give what shows errors."""
    settings.DEBUG = True
    monkeypatch.setattr(our_http, "MAX_SECONDS", 0.5)
    return Pages(engine, settings)


def submit() -> None:
    """Tell the engine of an index."""
    get_engines()["google"].send(make_batch())


def ask() -> None:
    """Ask it about one."""
    get_engines()["google"].read_back(SITE, INDEX)


@pytest.mark.parametrize("form", FORMS)
def test_a_key_that_works_is_not_shown(form: str, pages, engine):
    """Whatever Google answers to it, or to the token that it opens."""
    pages.configure(FORMS[form])
    for fault in FAULTS:
        for kind in ("token", "search_console"):
            engine.faults.script(fault, kind=kind)
            get_engines()["google"]._account.forget_token()
            pages.show(submit)
            pages.show(ask)
    engine.state.tokens.add("of-somebody-else")
    engine.state.properties = set()
    pages.show(submit)
    engine.state.public_keys.clear()
    get_engines()["google"]._account.forget_token()
    pages.show(submit)
    assert len(pages.shown) > len(FAULTS)
    assert engine.heard("token")
    assert pages.leaks() == set()


@pytest.mark.parametrize("form", BROKEN)
def test_a_key_that_cannot_work_is_not_shown(form: str, pages):
    """Where it is refused, nor among the settings of any other page."""
    pages.configure(BROKEN[form])
    pages.show(get_engines)
    assert len(pages.shown) == 1
    assert "SITEMAPS_PLUS" in pages.shown[0]
    assert pages.leaks() == set()


def test_a_key_in_a_file_is_not_shown(pages, tmp_path):
    """Neither where the file holds something else, nor where it cannot be read."""
    for form in BROKEN:
        path = tmp_path / form
        pages.configure(lambda account, form=form, path=path: str(path))
        pages.show(get_engines)
        path.write_text(str(BROKEN[form](pages._account)))
        pages.configure(lambda account, path=path: path)
        pages.show(get_engines)
    assert len(pages.shown) == 2 * len(BROKEN)
    assert pages.leaks() == set()


def test_the_detector_finds_a_key_that_is_shown(pages, settings):
    """As a setting of the project's own."""
    settings.GOOGLE_CREDENTIALS = pages._account["private_key"]
    pages.configure(lambda account: "no such file")
    pages.show(get_engines)
    assert pages.leaks()


#: Starts a project as it comes, and prints what its pages of errors show of settings.
START = """
import django
from django.conf import settings
from django.views.debug import SafeExceptionReporterFilter

options = {"credentials": '{"private_key": "c4nary"}'}
backend = "django_sitemaps_plus.notifications.SearchConsole"
engine = {"BACKEND": backend, "OPTIONS": options}
settings.configure(
    DEBUG=True,
    SECRET_KEY="only-for-tests",
    INSTALLED_APPS=["django.contrib.contenttypes", "django_sitemaps_plus"],
    SITEMAPS_PLUS={"ENGINES": {"google": engine, "odd": None}},
)
django.setup()
print(SafeExceptionReporterFilter().get_safe_settings()["SITEMAPS_PLUS"])
"""


def test_a_project_that_begins_hides_it():
    """Nobody need call anything."""
    done = subprocess.run(
        [sys.executable, "-c", START], capture_output=True, text=True, check=True
    )
    assert "'credentials': ***" in done.stdout
    assert "c4nary" not in done.stdout
