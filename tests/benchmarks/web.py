"""Requests through the whole of Django, as a WSGI server makes them."""

from __future__ import annotations

from dataclasses import dataclass
from http.client import responses
from typing import Any

from django.core.handlers.wsgi import WSGIHandler
from django.test import RequestFactory
from django.test.utils import override_settings

HOST = "example.com"


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back."""

    status: int
    headers: dict[str, str]
    body: bytes


class Web:
    """A running project with the middleware that is named."""

    def __init__(self, *middleware: str) -> None:
        with override_settings(MIDDLEWARE=list(middleware)):
            self._application = WSGIHandler()
        self._requests = RequestFactory(SERVER_NAME=HOST)

    def get(self, path: str, expected: int = 200, **headers: str) -> Answer:
        """Fetch a path."""
        environ = self._requests.get(path, secure=True, headers=headers).environ
        started: list[Any] = []
        response = self._application(environ, lambda *said: started.extend(said))
        body = b"".join(response)
        response.close()
        status = int(started[0].split()[0])
        if status != expected:
            raise RuntimeError(f"{path}: {status} {responses[status]}, not {expected}")
        return Answer(status, dict(started[1]), body)
