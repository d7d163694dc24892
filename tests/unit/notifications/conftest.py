"""A wire that notes what engines ask, and answers as a test has it."""

import json as json_module
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from django_sitemaps_plus.notifications import SearchConsole
from django_sitemaps_plus.notifications.engines import (
    baidu,
    bing,
    google,
    indexnow,
    ping,
    websub,
    yandex,
)
from django_sitemaps_plus.notifications.http import Answer
from django_sitemaps_plus.notifications.secrets import Secret
from tests.support.servers.engine_requests import State
from tests.support.servers.service_account import make_service_account

MODULES = [baidu, bing, google, indexnow, ping, websub, yandex]


def make_answer(
    status: int = 200, body: object = b"", retry_after: float | None = None
) -> Answer:
    if not isinstance(body, bytes):
        body = json_module.dumps(body).encode()
    return Answer(status=status, body=body, retry_after=retry_after)


@dataclass(slots=True)
class Wire:
    """What was asked, and what the next answers are.

    Attributes:
        asked: with secrets revealed.
        shown: the same, as a log would have it.
    """

    asked: list[dict[str, Any]] = field(default_factory=list)
    shown: str = ""
    answers: list[Answer] = field(default_factory=list)

    def will_answer(self, *args: Any, **kwargs: Any) -> None:
        """Queue an answer; when there is none left, it is an empty 200."""
        self.answers.append(make_answer(*args, **kwargs))

    def request(
        self,
        method: str,
        url: str,
        *,
        json: Any = None,
        form: Sequence[tuple[str, str | Secret]] | None = None,
        text: str | None = None,
        query: Mapping[str, str | Secret] | None = None,
        headers: Mapping[str, str | Secret] | None = None,
    ) -> Answer:
        given = {
            "json": json,
            "form": form,
            "text": text,
            "query": query,
            "headers": headers,
        }
        given = {k: _revealed(v) for k, v in given.items() if v is not None}
        self.shown += f"{url} {json} {form} {text} {query} {headers}"
        self.asked.append({"method": method, "url": url, **given})
        return self.answers.pop(0) if self.answers else make_answer()


def _revealed(value: Any) -> Any:
    if isinstance(value, Secret):
        return value.reveal()
    if isinstance(value, Mapping):
        return {name: _revealed(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(_revealed(item) for item in value)
    return value


@pytest.fixture
def wire(monkeypatch: pytest.MonkeyPatch) -> Wire:
    """Put a wire in the place of the network, for all engines."""
    found = Wire()
    for module in MODULES:
        monkeypatch.setattr(module, "request", found.request)
    return found


@pytest.fixture(scope="session")
def account() -> dict[str, Any]:
    return make_service_account(State(url="https://oauth2.example"))


@pytest.fixture
def console(account, wire) -> SearchConsole:
    """Give an engine whose first request is for a token, which it gets."""
    wire.will_answer(200, {"access_token": "canary-of-google", "expires_in": 3_599})
    return SearchConsole(service_account_key=Secret(json_module.dumps(account)))
