"""The nginx that tests start serves gzipped files under their plain names."""

from __future__ import annotations

import gzip
import threading
import urllib.request
from collections.abc import Iterator
from http.client import HTTPResponse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.error import HTTPError

import pytest

from tests.support.servers.nginx import start_nginx
from tests.support.servers.programs import HOST

PAGE = b"<urlset/>" * 100


def get(url: str, **headers: str) -> tuple[int, dict[str, str], bytes]:
    """Return status, headers and body."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    response: HTTPResponse | HTTPError
    try:
        response = opener.open(urllib.request.Request(url, headers=named), timeout=30)  # noqa: S310
    except HTTPError as error:
        response = error
    with response:
        return response.status or 0, dict(response.headers.items()), response.read()


@pytest.fixture
def public(tmp_path: Path) -> Path:
    """Give a directory with one gzipped page."""
    (tmp_path / "page.xml.gz").write_bytes(gzip.compress(PAGE))
    return tmp_path


def test_gzip_for_who_accepts_it(public):
    """As it lies there, with the type of what it holds."""
    with start_nginx(public) as nginx:
        status, headers, body = get(f"{nginx.url}/page.xml", Accept_Encoding="gzip")
    assert (status, headers["Content-Encoding"]) == (200, "gzip")
    assert headers["Content-Type"] == "application/xml"
    assert headers["Vary"] == "Accept-Encoding"
    assert body == (public / "page.xml.gz").read_bytes()


def test_plain_for_who_does_not(public):
    """Inflated from the same file, since there is no plain one."""
    with start_nginx(public) as nginx:
        status, headers, body = get(f"{nginx.url}/page.xml")
    assert (status, headers.get("Content-Encoding"), body) == (200, None, PAGE)
    assert headers["Vary"] == "Accept-Encoding"


def test_gzip_static_on_needs_the_plain_file(public):
    """It finds nothing for who does not accept gzip."""
    with start_nginx(public, gzip_static="on") as nginx:
        assert get(f"{nginx.url}/page.xml")[0] == 404
        (public / "page.xml").write_bytes(PAGE)
        assert get(f"{nginx.url}/page.xml")[2] == PAGE


class _Upstream(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        body = f"{self.path} at {self.headers['Host']}".encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


@pytest.fixture
def upstream() -> Iterator[str]:
    """Give the address of a server that says what it was asked for."""
    with ThreadingHTTPServer((HOST, 0), _Upstream) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://{HOST}:{server.server_port}"
        server.shutdown()
        thread.join()


def test_what_is_not_there_is_asked_of_the_upstream(public, upstream):
    """By the host and path that the client named; what is there is not."""
    with start_nginx(public, upstream=upstream) as nginx:
        assert get(f"{nginx.url}/page.xml")[2] == PAGE
        status, _, body = get(f"{nginx.url}/other.xml?p=2")
    assert (status, body.decode()) == (200, f"/other.xml?p=2 at {nginx.url[7:]}")


def test_killed_it_starts_again_at_the_same_address(public):
    """Its workers go with it."""
    with start_nginx(public) as nginx:
        nginx.kill()
        with pytest.raises(OSError, match="refused"):
            get(f"{nginx.url}/page.xml")
        nginx.restart()
        assert get(f"{nginx.url}/page.xml")[2] == PAGE


def test_without_upstream_what_is_not_there_is_404(public):
    """And not an error of nginx."""
    with start_nginx(public) as nginx:
        assert get(f"{nginx.url}/nothing.xml")[0] == 404
