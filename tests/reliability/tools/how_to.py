"""The configuration of nginx that the documentation shows, and a client of it."""

from __future__ import annotations

import re
import urllib.request
from collections.abc import Mapping
from http.client import HTTPMessage
from pathlib import Path
from urllib.error import HTTPError

_PAGE = Path(__file__).parents[3] / "docs" / "how-to" / "serve-files-with-nginx.md"

#: What a reader changes in it: address, host, directory and the address of Django.
_CHANGED = {
    "listen 80;": "listen {host}:{port};",
    "server_name shop.example;": "server_name _;",
    "root /srv/shop/media/sitemaps/public;": "root {public};",
    "proxy_pass http://127.0.0.1:8000;": "proxy_pass {upstream};",
}


def how_to_server() -> str:
    """Return the server block of the how-to, with places for :meth:`str.format`."""
    found = re.search(r"```nginx\n(.*?)```", _PAGE.read_text(), re.DOTALL)
    assert found is not None
    text = found[1].replace("{", "{{").replace("}", "}}")
    for shown, changed in _CHANGED.items():
        assert shown in text, shown
        text = text.replace(shown, changed)
    return text


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
        """Return a header."""
        return self.headers.get(name, default)


class WebClient:
    """Asks a server as Django's test client asks a view."""

    def __init__(self, url: str) -> None:
        self.url = url
        self._opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))

    def get(self, path: str, headers: Mapping[str, str] | None = None) -> Answer:
        """Return the answer to a GET."""
        return self._ask("GET", path, headers or {})

    def head(self, path: str, headers: Mapping[str, str] | None = None) -> Answer:
        """Return the answer to a HEAD."""
        return self._ask("HEAD", path, headers or {})

    def _ask(self, method: str, path: str, headers: Mapping[str, str]) -> Answer:
        url = self.url + path
        request = urllib.request.Request(url, headers=dict(headers), method=method)  # noqa: S310
        try:
            with self._opener.open(request, timeout=30) as response:
                return Answer(response.status, response.headers, response.read())
        except HTTPError as error:
            with error:
                return Answer(error.code, error.headers, error.read())
