"""TLS: who the other side must prove to be."""

from __future__ import annotations

import pytest

from django_sitemaps_plus.exceptions import RetryLater
from django_sitemaps_plus.notifications.http import client, request
from tests.support.servers.certificates import make_certificate
from tests.support.servers.odd_http import answer, says, start_odd


@pytest.fixture
def _trusted(monkeypatch, tmp_path) -> None:
    """Trust the certificates of this test."""
    for host in ("localhost", "other.example"):
        make_certificate(host, tmp_path)
    bundle = b"".join([path.read_bytes() for path in tmp_path.glob("*.pem")])
    (tmp_path / "authorities").write_bytes(bundle)
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "authorities"))


@pytest.mark.usefixtures("_trusted")
def test_the_host_is_asked(tmp_path):
    """A certificate of the URL's host is taken, though we connect to a number."""
    certificate = tmp_path / "localhost.pem"
    with start_odd(says(answer(body=b"fine")), certificate) as server:
        answered = request("GET", f"https://localhost:{server.port}/")
    assert answered.body == b"fine"
    (heard,) = server.requests
    assert f"\r\nHost: localhost:{server.port}\r\n".encode() in heard


@pytest.mark.usefixtures("_trusted")
@pytest.mark.parametrize("host", ["localhost", "127.0.0.1"])
def test_another_host_is_not(tmp_path, host: str):
    """A certificate of another host is refused, and nothing is sent."""
    certificate = tmp_path / "other.example.pem"
    with (
        start_odd(says(answer()), certificate) as server,
        pytest.raises(RetryLater, match=f"not valid for '{host}'"),
    ):
        request("GET", f"https://{host}:{server.port}/")
    assert server.requests == []


def test_a_stranger_is_not(tmp_path):
    """A certificate that nobody vouches for is refused, and nothing is sent."""
    certificate = make_certificate("localhost", tmp_path)
    with (
        start_odd(says(answer()), certificate) as server,
        pytest.raises(RetryLater, match="certificate verify failed"),
    ):
        request("GET", f"https://localhost:{server.port}/")
    assert server.requests == []


def test_a_server_without_it_is_not(monkeypatch):
    monkeypatch.setattr(client, "MAX_SECONDS", 0.5)
    with start_odd(says(answer())) as server, pytest.raises(RetryLater):
        request("GET", f"https://localhost:{server.port}/", text="c4nary")
    assert server.requests == []
