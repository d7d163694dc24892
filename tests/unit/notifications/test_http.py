"""Requests over HTTP: what is sent, what answers mean, and that no secret shows."""

import copy
import http.client
import json
import logging
import pickle
import pprint
import re
import socket
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from itertools import chain
from typing import Any

import pytest
from django.utils.http import http_date

from django_sitemaps_plus.exceptions import (
    BatchRejected,
    EngineError,
    EngineRefused,
    RetryLater,
)
from django_sitemaps_plus.notifications.http import Answer, accepted, client, request
from django_sitemaps_plus.notifications.http.answers import (
    MAX_RETRY_AFTER,
    parse_retry_after,
    redirect_host,
)
from django_sitemaps_plus.notifications.secrets import Secret, without_text
from tests.support.leaks import everything, everything_logged
from tests.support.servers.certificates import make_certificate
from tests.support.servers.odd_http import (
    OddServer,
    Reply,
    answer,
    drips,
    echoes,
    resets,
    says,
    start_odd,
    stays_silent,
)
from tests.support.servers.programs import HANG, reserve_port, wait_until


@pytest.fixture
def server() -> Iterator[OddServer]:
    with start_odd(says(answer(body=b"fine"))) as server:
        yield server


def ask(reply: Reply) -> Answer:
    with start_odd(reply) as server:
        return request("GET", server.url)


def is_busy() -> bool:
    return "sitemaps-plus-http" in [thread.name for thread in threading.enumerate()]


def heard(server: OddServer) -> tuple[str, dict[str, str], bytes]:
    """Return the first line, the headers and the body of the only request."""
    (whole,) = server.requests
    head, _, body = whole.partition(b"\r\n\r\n")
    first, *lines = head.decode().split("\r\n")
    return first, dict(line.split(": ", 1) for line in lines), body


class TestSending:
    def test_a_get_is_plain(self, server):
        answered = request("GET", f"http://localhost:{server.port}/ping?a=1#part")
        first, headers, body = heard(server)
        assert answered == Answer(status=200, body=b"fine")
        assert first == "GET /ping?a=1 HTTP/1.1"
        assert headers == {
            "User-Agent": "django-sitemaps-plus",
            "Host": f"localhost:{server.port}",
            "Accept-Encoding": "identity",
            "Connection": "close",
        }
        assert body == b""

    @pytest.mark.parametrize(
        ("content", "content_type", "body"),
        [
            (
                {"json": {"key": Secret("c4nary"), "urls": ["https://a.example/ä"]}},
                "application/json; charset=utf-8",
                b'{"key": "c4nary", "urls": ["https://a.example/\\u00e4"]}',
            ),
            (
                {"form": [("hub.url", "https://a.example/?x&y"), ("b", Secret("c"))]},
                "application/x-www-form-urlencoded",
                b"hub.url=https%3A%2F%2Fa.example%2F%3Fx%26y&b=c",
            ),
            ({"text": "ä\nb"}, "text/plain; charset=utf-8", b"\xc3\xa4\nb"),
            ({}, None, b""),  # servers ask for a length all the same
        ],
    )
    def test_a_body_is_sent_with_its_secrets(self, server, content, content_type, body):
        plain = {"Authorization": Secret("OAuth c4nary"), "X-Plain": "1"}
        request("PUT", server.url, headers=plain, **content)
        _, headers, sent = heard(server)
        assert (headers.get("Content-Type"), sent) == (content_type, body)
        assert headers["Content-Length"] == str(len(body))
        assert (headers["Authorization"], headers["X-Plain"]) == ("OAuth c4nary", "1")

    @pytest.mark.parametrize(
        ("path", "target"), [("", "/?key=a%26b&x=+"), ("p?q=1", "/p?q=1&key=a%26b&x=+")]
    )
    def test_a_query_is_added_to_the_url(self, server, path: str, target: str):
        query = {"key": Secret("a&b"), "x": " "}
        request("GET", server.url + path, query=query)
        assert heard(server)[0] == f"GET {target} HTTP/1.1"

    @pytest.mark.parametrize("value", ["a\r\nX-Evil: 1", "key\n", "schlüssel"])
    def test_a_header_cannot_begin_another(self, server, value: str):
        with pytest.raises(EngineRefused, match="header Authorization"):
            request("GET", server.url, headers={"Authorization": Secret(value)})
        assert server.requests == []

    def test_what_cannot_be_sent_is_refused(self, server, caplog):
        with pytest.raises(EngineRefused, match="could not be made: TypeError"):
            request("POST", server.url, json={"key": object()})
        assert server.requests == []
        assert caplog.records[0].action == "request_failed"

    def test_the_environment_changes_nothing(self, server, monkeypatch, tmp_path):
        (tmp_path / "netrc").write_text("default login me password c4nary")
        monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
        with start_odd(says(answer())) as proxy:
            for name in ("http_proxy", "https_proxy", "all_proxy"):
                monkeypatch.setenv(name, proxy.url)
                monkeypatch.setenv(name.upper(), proxy.url)
            request("GET", server.url)
        assert proxy.connections == 0
        assert "Authorization" not in heard(server)[1]


class TestAnswers:
    def test_a_body_in_pieces_is_put_together(self):
        pieces = b"2\r\nfi\r\n2\r\nne\r\n0\r\n\r\n"
        head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
        assert ask(says(head + pieces)).body == b"fine"

    @pytest.mark.parametrize("status", ["100 Continue", "102 Processing", "199 Odd"])
    def test_interim_answers_are_skipped(self, status):
        """There may be several, each with headers; the last one counts."""
        hints = b"HTTP/1.1 103 Early Hints\r\nLink: </a.css>; rel=preload\r\n\r\n"
        interim = hints + f"HTTP/1.1 {status}\r\n\r\n".encode() + hints
        fine = Answer(status=200, body=b"fine")
        assert ask(says(interim + answer(body=b"fine"))) == fine
        rejected = ask(says(interim + answer("400 Bad Request", b"no")))
        assert (rejected.status, rejected.body) == (400, b"no")

    def test_a_server_that_switches_protocols_has_answered(self):
        """Whatever follows is not HTTP."""
        assert ask(says(b"HTTP/1.1 101 Switching Protocols\r\n\r\nhi")).status == 101

    def test_what_it_asks_for_is_kept(self):
        headers = "Retry-After: 7", "Location: https://other.example/x"
        with start_odd(says(answer("302 Found", b"no c4nary", *headers))) as server:
            answered = request("GET", server.url, query={"key": Secret("c4nary")})
        assert (answered.retry_after, answered.redirect_host) == (7, "other.example")
        assert answered.text == "no ***"

    def test_a_server_that_has_heard_enough_is_listened_to(self):
        with start_odd(says(answer("413 Too Large")), is_hasty=True) as server:
            assert request("POST", server.url, text="x" * 10**7).status == 413

    @pytest.mark.parametrize(
        "reply",
        [
            resets,
            says(b""),
            says(b"nonsense\r\n\r\n"),
            says(b"HTTP/1.1 200 " + b"O" * 100_000),
            says(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nno\r\n"),
        ],
    )
    def test_what_is_no_answer_is_asked_for_again(self, reply: Reply):
        """A broken connection and broken HTTP are the same to us."""
        with pytest.raises(RetryLater, match=r"^http://127\.0\.0\.1:\d+ could not be"):
            ask(reply)

    @pytest.mark.parametrize(
        "reply", [stays_silent, drips(answer(length=10**6))], ids=["silence", "body"]
    )
    def test_a_slow_answer_is_not_waited_for(self, reply: Reply, monkeypatch):
        monkeypatch.setattr(client, "MAX_SECONDS", 0.5)
        with pytest.raises(RetryLater, match=r"no complete answer in 0\.5 seconds"):
            ask(reply)
        wait_until(lambda: not is_busy(), "the connection is closed", 5)

    def test_nobody_listens(self):
        with reserve_port() as reserved, pytest.raises(RetryLater, match="refused"):
            request("GET", f"http://127.0.0.1:{reserved.getsockname()[1]}/")

    @pytest.mark.parametrize(
        ("hangs", "said"),
        [(False, r"engine\.example .*Temporary failure"), (True, "no complete answer")],
    )
    def test_a_name_server_that_is_away_is_not_waited_for(
        self, monkeypatch, hangs, said
    ):
        go = threading.Event()

        def fail(*args: object, **options: object) -> None:
            if hangs:
                go.wait(HANG)
            raise socket.gaierror(socket.EAI_AGAIN, "Temporary failure")

        monkeypatch.setattr(socket, "getaddrinfo", fail)
        monkeypatch.setattr(client, "MAX_SECONDS", 0.2)
        with pytest.raises(RetryLater, match=said):
            request("GET", "https://engine.example/")
        go.set()

    def test_another_address_is_tried(self, monkeypatch, server):
        real = socket.getaddrinfo

        def find(host: str, port: int, *args: int, **options: int) -> list[Any]:
            hosts = ["127.0.0.2", "127.0.0.1"] if host == "localhost" else [host]
            found = [real(host, port, *args, **options) for host in hosts]
            return list(chain(*found))

        monkeypatch.setattr(socket, "getaddrinfo", find)
        assert request("GET", f"http://localhost:{server.port}/").status == 200


@pytest.fixture
def _trusted(monkeypatch, tmp_path) -> None:
    for host in ("localhost", "other.example"):
        make_certificate(host, tmp_path)
    bundle = b"".join([path.read_bytes() for path in tmp_path.glob("*.pem")])
    (tmp_path / "authorities").write_bytes(bundle)
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "authorities"))


@pytest.mark.usefixtures("_trusted")
def test_the_host_is_asked(tmp_path):
    certificate = tmp_path / "localhost.pem"
    with start_odd(says(answer(body=b"fine")), certificate) as server:
        answered = request("GET", f"https://localhost:{server.port}/")
    assert answered.body == b"fine"
    (heard,) = server.requests
    assert f"\r\nHost: localhost:{server.port}\r\n".encode() in heard


@pytest.mark.usefixtures("_trusted")
@pytest.mark.parametrize("host", ["localhost", "127.0.0.1"])
def test_another_host_is_not_told(tmp_path, host: str):
    certificate = tmp_path / "other.example.pem"
    with (
        start_odd(says(answer()), certificate) as server,
        pytest.raises(RetryLater, match=f"not valid for '{host}'"),
    ):
        request("GET", f"https://{host}:{server.port}/")
    assert server.requests == []


@pytest.mark.parametrize(
    ("has_certificate", "said"), [(True, "certificate verify failed"), (False, None)]
)
def test_a_server_that_nobody_vouches_for_is_not_told(
    tmp_path, monkeypatch, has_certificate, said
):
    certificate = make_certificate("localhost", tmp_path) if has_certificate else None
    if certificate is None:
        monkeypatch.setattr(client, "MAX_SECONDS", 0.5)
    with (
        start_odd(says(answer()), certificate) as server,
        pytest.raises(RetryLater, match=said),
    ):
        request("GET", f"https://localhost:{server.port}/", text="c4nary")
    assert server.requests == []


@pytest.mark.parametrize(
    ("statuses", "given", "error", "said"),
    [
        ([102, 408, 425, 429, 500, 503, 999], {}, RetryLater, "its words"),
        ([401, 403, 404, 405, 410, 422], {}, EngineRefused, "its words"),
        ([300, 302, 308], {"redirect_host": "b.example"}, EngineRefused, "b.example"),
        ([400, 409, 413], {}, BatchRejected, ""),
    ],
)
def test_a_status_says_what_to_do(statuses, given, error, said):
    for status in statuses:
        given = {"body": b"its words", "retry_after": 7.0, **given}
        with pytest.raises(error, match=f"{status}.*{said}") as caught:
            accepted(Answer(status=status, **given))
        assert getattr(caught.value, "after", 7.0) == 7.0
    for status in (200, 202, 299):
        answer = Answer(status=status)
        assert accepted(answer) is answer


class TestBody:
    def test_text_is_one_short_printable_line(self):
        body = b"no\r\n\x1b[31m \x00\xff " + "\u202eevil\u2028".encode() + b"x" * 10_000
        text = Answer(status=400, body=body).text
        assert text.startswith("no [31m \ufffd evil xxx")
        assert text.isprintable()
        assert len(text) == 300
        assert "evil" not in repr(Answer(status=200, body=body))  # as a token may be

    @pytest.mark.parametrize(
        "body", [b"", b"<html>", b"\xff\xfe", b"[" * 60_000, b"[1]"]
    )
    def test_what_is_no_json_is_nothing(self, body: bytes):
        assert Answer(status=200, body=body).json() == {}


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        *(("0", 0), ("120", 120), (" 7 ", 7), ("9" * 5_000, MAX_RETRY_AFTER)),
        ("Sun, 06 Nov 1994 08:49:37 GMT", 0),
        ("Fri, 31 Dec 9999 23:59:59 GMT", MAX_RETRY_AFTER),
        *[(it, None) for it in (None, "", "soon", "-1", "1.5", "٣", "Sun, 99")],
    ],
)
def test_when_to_ask_again_is_seconds_or_a_date(value, expected):
    """It never lies in the past, or more than a day ahead."""
    assert parse_retry_after(value) == expected
    seconds = parse_retry_after(http_date(time.time() + 3_600))
    assert seconds == pytest.approx(3_600, abs=60)


@pytest.mark.parametrize(
    ("location", "host"),
    [
        ("http://169.254.169.254/latest", "169.254.169.254"),
        ("https://user:c4nary@other.example/?key=c4nary", "other.example"),
        *(("//other.example", "other.example"), ("/elsewhere", "")),
        *(("https://[", ""), ("", "")),
    ],
)
def test_redirect_names_its_host_alone(location: str, host: str):
    assert redirect_host(location) == host


VALUE = 'c4nary/of a "key" & <more>'


class TestShowing:
    @pytest.mark.parametrize(
        "show",
        [
            *(repr, str, pprint.pformat, "{}".format),
            lambda secret: "%s %r" % (secret, secret),  # noqa: UP031
            lambda secret: repr({"key": [secret]}),
        ],
    )
    def test_it_is_hidden_however_it_is_shown(self, show):
        shown = show(Secret(VALUE))
        assert "***" in shown
        assert "c4nary" not in shown

    @pytest.mark.parametrize("dump", [pickle.dumps, json.dumps])
    def test_it_cannot_be_dumped(self, dump):
        with pytest.raises(TypeError) as caught:
            dump(Secret(VALUE))
        assert "c4nary" not in str(caught.value)

    @pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy])
    def test_a_copy_is_the_secret_itself(self, duplicate):
        """Settings that hold one can be copied."""
        secret = Secret(VALUE)
        assert duplicate(secret) is secret
        assert duplicate({"key": secret})["key"] is secret

    def test_only_a_string_can_be_one(self):
        with pytest.raises(TypeError, match="not NoneType"):
            Secret(None)


class TestHiding:
    @pytest.mark.parametrize(
        "text",
        [
            VALUE,
            "c4nary%2Fof%20a%20%22key%22%20%26%20%3Cmore%3E",
            "c4nary/of%20a%20%22key%22%20%26%20%3Cmore%3E",
            "c4nary%2Fof+a+%22key%22+%26+%3Cmore%3E",
            'c4nary/of a \\"key\\" & <more>',
            "c4nary/of a &quot;key&quot; &amp; &lt;more&gt;",
        ],
    )
    def test_it_is_hidden_in_any_form(self, text: str):
        hidden = Secret(VALUE).hide_in(f"no: {text}!".encode())
        assert hidden == b"no: ***!"

    def test_credentials_are_hidden_without_their_scheme(self):
        """A server may quote the token of a header alone."""
        hidden = Secret("OAuth c4nary").hide_in(b"unknown token c4nary")
        assert hidden == b"unknown token ***"

    def test_a_secret_that_is_not_utf_8_is_hidden_too(self):
        """As an environment variable may be."""
        assert Secret("c4nary\udcff").hide_in(b"c4nary\xed\xb3\xbf") == b"***"


def test_an_error_is_described_without_its_text():
    try:
        raise ValueError(VALUE[:6])
    except ValueError as error:
        words = without_text(error)
    assert words.startswith("ValueError\n")
    assert "raise ValueError(VALUE[:6])" in words
    assert VALUE[:6] not in words


# In parts, since pages of errors quote the lines of programs.
CANARY = "".join(["c4n", "ary/", "7 ", "&ü"])
TOKEN = "".join(["t0k", "en"])
TRACES = ("".join(["c4n", "ary"]), TOKEN)

#: What servers answer, or fail to.
REPLIES: dict[str, Reply] = {
    "yes": says(answer()),
    "yes, and what it heard": echoes(b"HTTP/1.1 200 OK\r\n\r\n"),
    "no, and what it heard": echoes(b"HTTP/1.1 403 Forbidden\r\n\r\n"),
    "bad, and what it heard": echoes(b"HTTP/1.1 400 Bad\r\n\r\n"),
    "what it heard": echoes(),
    "what it heard as a header of its own": echoes(b"HTTP/1.1 200 OK\r\n"),
    "a header that cannot be read": says(b"HTTP/1.1 200 OK\r\nno header\r\n\r\nx"),
    "a redirect to what it heard": echoes(
        b"HTTP/1.1 302 Found\r\nLocation: https://other.example/"
    ),
    "a redirect to a host of that name": says(
        answer("302 Found", b"", f"Location: https://{TOKEN}.example/")
    ),
    "half of what it heard": echoes(b"HTTP/1.1 200 OK\r\nContent-Length: 9999\r\n\r\n"),
    "a bad chunk": echoes(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"),
    "a reset": resets,
    "silence": stays_silent,
}


def tell(url: str, **more: object) -> Answer:
    headers = {"Authorization": Secret(f"OAuth {TOKEN}")}
    query = {"key": Secret(CANARY)}
    json = {"key": [Secret(CANARY)], **more}
    return accepted(request("POST", url, query=query, headers=headers, json=json))


def tell_form(url: str) -> Answer:
    pairs = [("key", Secret(CANARY)), ("token", Secret(TOKEN))]
    return accepted(request("POST", url, form=pairs))


@pytest.fixture
def leaks(caplog, capsys, monkeypatch, settings) -> Callable[..., list[str]]:
    settings.DEBUG = True
    caplog.set_level(logging.DEBUG)
    monkeypatch.setattr(http.client.HTTPConnection, "debuglevel", 1)
    monkeypatch.setattr(client, "MAX_SECONDS", 0.5)

    def leaks(call: Callable[[], object]) -> list[str]:
        texts = []
        try:
            returned = call()
        except EngineError as error:
            texts += everything(error)
        else:
            texts += [repr(returned), repr(getattr(returned, "body", ""))]
        texts += everything_logged(caplog.records)
        texts += capsys.readouterr()
        assert sum(map(len, texts)) > 0
        found = [re.search(f".*({'|'.join(TRACES)}).*", text) for text in texts]
        return [match[0][:300] for match in found if match]

    return leaks


@pytest.mark.parametrize(
    ("name", "call"),
    [*[(name, tell) for name in REPLIES], ("what it heard", tell_form)],
)
def test_nothing_leaks_whatever_a_server_answers(name: str, call, leaks):
    with start_odd(REPLIES[name]) as server:
        assert leaks(lambda: call(server.url)) == []
    assert server.requests
    assert all([TRACES[0].encode() in heard for heard in server.requests])


def test_nothing_leaks_where_nobody_is_asked(leaks):
    """A URL that may not be asked, a closed port, no TLS, what cannot be sent."""
    with reserve_port() as reserved, start_odd(says(answer())) as server:
        closed = reserved.getsockname()[1]
        for url in (
            *(f"http://127.0.0.1:{closed}/", f"https://localhost:{server.port}/"),
            *("https://2130706433/", "http://example.com/", "nonsense"),
        ):
            assert leaks(lambda url=url: tell(url)) == []
        assert leaks(lambda: tell(server.url, odd=object())) == []
        broken = {"X-Key": Secret(CANARY)}
        assert leaks(lambda: request("GET", server.url, headers=broken)) == []
        assert server.requests == []


def test_nothing_leaks_from_an_unexpected_error(leaks, monkeypatch):
    """Its text may quote what could not be sent."""

    def fail(connection: object, method: str, target: str, **options: object) -> None:
        raise ValueError(f"{target} {options}")

    monkeypatch.setattr("http.client.HTTPConnection.request", fail)
    with start_odd(says(answer())) as server:
        assert leaks(lambda: tell(server.url)) == []


def test_the_detector_finds_a_leak(leaks):

    def call() -> None:
        value = Secret(CANARY).reveal()
        raise EngineError(f"It failed{value[:0]}")

    assert leaks(call)


def test_an_error_can_be_raised_elsewhere(leaks):
    """Nothing hangs on it but what this thread has."""
    with reserve_port() as reserved, pytest.raises(EngineError) as caught:
        tell(f"http://127.0.0.1:{reserved.getsockname()[1]}/")
    assert caught.value.__context__ is None
    assert caught.value.__cause__ is None
    names = [f.name for f in traceback.extract_tb(caught.value.__traceback__)]
    assert names[1:] == ["tell", "request"]
