"""A client that asks a server over HTTP as Django's test client asks a view."""

import urllib.request
from collections.abc import Mapping
from http.client import HTTPMessage
from urllib.error import HTTPError


class Answer:
    """What a server has said, as Django's test client gives it."""

    def __init__(self, status_code: int, headers: HTTPMessage, content: bytes) -> None:
        self.status_code = status_code
        self.headers = headers
        self.content = content

    def __getitem__(self, name: str) -> str:
        value = self.headers[name]
        assert value is not None, name
        return str(value)

    def get(self, name: str, default: str | None = None) -> str | None:
        return self.headers.get(name, default)


class WebClient:
    def __init__(self, url: str, seconds: float = 30) -> None:
        self.url = url
        self._seconds = seconds
        self._opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))

    def get(self, path: str, headers: Mapping[str, str] | None = None) -> Answer:
        return self.ask("GET", path, headers)

    def head(self, path: str, headers: Mapping[str, str] | None = None) -> Answer:
        return self.ask("HEAD", path, headers)

    def ask(
        self, method: str, path: str, headers: Mapping[str, str] | None = None
    ) -> Answer:
        """Return the answer to a request, whatever its status."""
        url = path if path.startswith("http") else self.url + path
        request = urllib.request.Request(url, headers=dict(headers or {}))  # noqa: S310
        request.method = method
        try:
            with self._opener.open(request, timeout=self._seconds) as response:
                return Answer(response.status, response.headers, response.read())
        except HTTPError as error:
            with error:
                return Answer(error.code, error.headers, error.read())
