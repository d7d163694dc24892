"""T19: the page of an error shows no key of a service account, nor a part of it."""

from __future__ import annotations

import html
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.test import RequestFactory
from django.views.debug import technical_500_response

from django_sitemaps_plus.exceptions import ConfigurationError, EngineError
from django_sitemaps_plus.notifications import Secret
from django_sitemaps_plus.notifications.configuration import get_engine
from django_sitemaps_plus.notifications.http import client
from tests.support.batches import INDEX, SITE, make_batch
from tests.support.servers.engine import LocalEngine
from tests.support.servers.engine_faults import FAULTS
from tests.support.servers.service_account import make_service_account

from .tools.secrecy import OURS

#: Texts of a key file that cannot work.
BROKEN: dict[str, Callable[[dict[str, Any]], str]] = {
    "half of the text": lambda account: json.dumps(account)[:-40],
    "a list": lambda account: json.dumps([account]),
    "text with a mark before it": lambda account: "\ufeff" + json.dumps(account),
    "the key alone": lambda account: account["private_key"],
    "text of a key that is cut": lambda account: json.dumps(
        {**account, "private_key": account["private_key"][:-200]}
    ),
}


def in_file(text: str, directory: Path) -> Path:
    """Put a text into a file."""
    path = directory / "key"
    path.write_text(text)
    return path


#: Ways to give a text in the settings; the plain ones are refused.
GIVEN: dict[str, Callable[[str, Path], Any]] = {
    "secret": lambda text, _: Secret(text),
    "text": lambda text, _: text,
    "dict": lambda text, _: {"private_key": text},
    "file": in_file,
}


class Pages:
    """Errors, as Django shows them where DEBUG is on."""

    def __init__(self, server: LocalEngine, settings: Any) -> None:
        self._server = server
        self._settings = settings
        self.account = make_service_account(server.state)
        self.shown: list[str] = []

    def configure(self, key: Any) -> None:
        """Have one engine with a key."""
        options = {
            "service_account_key": key,
            "endpoint": f"{self._server.url}/webmasters/v3",
        }
        engine = {"BACKEND": f"{OURS}.SearchConsole", "OPTIONS": options}
        ours = {**self._settings.SITEMAPS_PLUS, "ENGINES": {"google": engine}}
        self._settings.SITEMAPS_PLUS = ours

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
        lines = self.account["private_key"].splitlines()[1:-1]
        heard = self._server.heard("token")
        claims = [request.body.partition("assertion=")[2] for request in heard]
        secrets = [*lines, *filter(None, claims), *self._server.state.tokens]
        return {s for s in secrets for page in self.shown if s in page}


@pytest.fixture
def pages(engine, settings, monkeypatch) -> Pages:
    """Give what shows errors."""
    settings.DEBUG = True
    monkeypatch.setattr(client, "MAX_SECONDS", 0.5)
    return Pages(engine, settings)


def make() -> Any:
    """Make the engine."""
    return get_engine("google")


def submit() -> None:
    """Submit an index; the page of an error quotes these lines, and none of a test."""
    make().send(make_batch())


def read_back() -> None:
    """Ask about one."""
    make().read_back(SITE, INDEX)


def forget_token() -> None:
    """Have the next request fetch a token first."""
    make()._credentials.token = None


def test_a_key_that_works_is_not_shown(pages, engine):
    """Whatever Google answers to it, or to the token that it opens."""
    pages.configure(Secret(json.dumps(pages.account)))
    for fault in FAULTS:
        for kind in ("token", "search_console"):
            engine.faults.script(fault, kind=kind)
            forget_token()
            pages.show(submit)
            pages.show(read_back)
    engine.state.tokens.add("of-somebody-else")
    engine.state.properties = set()
    pages.show(submit)
    engine.state.public_keys.clear()
    forget_token()
    pages.show(submit)
    assert len(pages.shown) > len(FAULTS)
    assert engine.heard("token")
    assert pages.leaks() == set()


@pytest.mark.parametrize("given", GIVEN)
@pytest.mark.parametrize("form", BROKEN)
def test_a_key_that_cannot_work_is_not_shown(form: str, given: str, pages, tmp_path):
    """Where it is refused, nor among the settings of any other page."""
    pages.configure(GIVEN[given](BROKEN[form](pages.account), tmp_path))
    pages.show(make)
    assert len(pages.shown) == 1
    assert "SITEMAPS_PLUS" in pages.shown[0]
    assert pages.leaks() == set()


def test_the_detector_finds_a_key_that_is_shown(pages, settings):
    """As a setting of the project's own."""
    settings.GOOGLE_CREDENTIALS = pages.account["private_key"]
    pages.configure("no such file")
    pages.show(make)
    assert pages.leaks()
