"""``check_sitemaps`` on files, directories and URLs of a server on loopback."""

from __future__ import annotations

import gzip
import io
import json
import socket
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from tests.support.servers.odd_http import start_odd
from tests.support.shop import limited, make_products
from tests.support.validation import entry, index, urlset


def check(*arguments: object) -> str:
    """Return what the command prints where it finds nothing."""
    out = io.StringIO()
    call_command("check_sitemaps", *map(str, arguments), stdout=out)
    return out.getvalue()


def failing(*arguments: object) -> list[str]:
    """Return the lines that the command prints where it finds something."""
    out = io.StringIO()
    with pytest.raises(CommandError):
        call_command("check_sitemaps", *map(str, arguments), stdout=out)
    return out.getvalue().splitlines()


class Server(ThreadingHTTPServer):
    """Answers what it is given, by path."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server_port}"
        self.answers: dict[str, tuple[int, dict[str, str], bytes]] = {}
        self.asked: list[str] = []

    def put(self, path: str, content: bytes, status: int = 200, **headers: str) -> None:
        """Answer a path; https://shop.example in the content becomes this server."""
        content = content.replace(b"https://shop.example", self.url.encode())
        self.answers[path] = (status, headers, content)


class Handler(BaseHTTPRequestHandler):
    """Answers one request."""

    server: Server

    def do_GET(self) -> None:
        """Answer what there is, or 404."""
        self.server.asked.append(self.path)
        status, headers, body = self.server.answers.get(self.path, (404, {}, b""))
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments: object) -> None:
        """Say nothing."""


@pytest.fixture
def server() -> Iterator[Server]:
    """Serve an index with two pages."""
    with Server() as server:
        server.put("/sitemap.xml", index("/a.xml", "/b.xml.gz"))
        server.put("/a.xml", urlset(entry("/a")))
        server.put("/b.xml.gz", urlset(entry("/b")))
        status, headers, content = server.answers["/b.xml.gz"]
        server.answers["/b.xml.gz"] = (status, headers, gzip.compress(content))
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield server
        server.shutdown()
        thread.join()


class TestFiles:
    def test_a_file_is_read_with_its_lines(self, tmp_path: Path):
        """The last line counts; a good file fails nothing."""
        good, bad = tmp_path / "good.xml", tmp_path / "bad.xml"
        good.write_bytes(urlset(entry("/a")))
        bad.write_bytes(urlset(entry("/a"), entry("/b", "<priority>2</priority>")))
        assert check(good) == "1 file, 1 entry: 0 errors, 0 warnings\n"
        assert failing(bad) == [
            f"{bad}:4: error priority: <priority>: priority '2' is not a number from "
            "0.0 to 1.0 [Invalid tag value]",
            "1 file, 2 entries: 1 error, 0 warnings",
        ]

    def test_warnings_do_not_fail(self, tmp_path: Path):
        """They are shown and counted."""
        path = tmp_path / "a.xml"
        path.write_bytes(urlset())
        assert check(path).endswith("1 file, 0 entries: 0 errors, 1 warning\n")

    def test_a_missing_file_fails(self, tmp_path: Path):
        """It says which."""
        [line, _] = failing(tmp_path / "none.xml")
        assert line.startswith(f"{tmp_path / 'none.xml'}: error unreachable: No such")

    def test_one_rule_is_shown_ten_times_a_file(self, tmp_path: Path):
        """The rest is counted."""
        path = tmp_path / "a.xml"
        path.write_bytes(urlset(*[entry(f"/{n}#x") for n in range(25)]))
        lines = failing(path)
        assert len(lines) == 12
        assert lines[-2:] == [
            f"{path}: 15 more of loc-fragment",
            "1 file, 25 entries: 25 errors, 0 warnings",
        ]

    def test_json_is_all_that_is_printed(self, tmp_path: Path, capsys):
        """With the words of Search Console."""
        path = tmp_path / "a.xml"
        path.write_bytes(urlset(entry("/a#b")))
        with pytest.raises(CommandError):
            call_command("check_sitemaps", str(path), "--json")
        assert json.loads(capsys.readouterr().out) == {
            "files": 1,
            "entries": 1,
            "errors": 1,
            "warnings": 0,
            "counts": {"loc-fragment": 1},
            "problems": [
                {
                    "source": str(path),
                    "line": 3,
                    "rule": "loc-fragment",
                    "message": "https://shop.example/a#b has a fragment: leave out # "
                    "and the rest",
                    "words": "Invalid URL",
                    "is_warning": False,
                }
            ],
        }


class TestDirectories:
    def test_its_index_says_where_its_files_are_served(self, tmp_path: Path):
        """So directories and duplicates are checked; other files are not read."""
        write = Path.write_bytes
        write(tmp_path / "a.xml", urlset(entry("/shop/a"), entry("/b")))
        write(tmp_path / "b.xml.gz", gzip.compress(urlset(entry("/shop/a"))))
        write(tmp_path / "z.xml.gz", gzip.compress(index("/shop/a.xml", "/b.xml")))
        write(tmp_path / "notes.md", b"none")
        assert [line.split("[")[0] for line in failing(tmp_path)] == [
            f"{tmp_path / 'a.xml'}:4: error loc-directory: https://shop.example/b is "
            "not below /shop/, where the sitemap is: serve sitemaps at the root ",
            f"{tmp_path / 'b.xml.gz'}:3: error loc-duplicate: https://shop.example"
            f"/shop/a is also in {tmp_path / 'a.xml'}: list it once ",
            "3 files, 4 entries: 2 errors, 0 warnings",
        ]

    def test_a_listed_file_must_be_there(self, tmp_path: Path):
        """Plain or compressed; an index in an index is named."""
        (tmp_path / "sitemap.xml").write_bytes(index("/a.xml", "/b.xml"))
        (tmp_path / "a.xml").write_bytes(index("/c.xml"))
        lines = failing(tmp_path)[:-1]
        rules = [line.split(": ")[1] for line in lines]
        assert sorted(rules) == ["error index-nested", *["error unreachable"] * 2]
        assert "it lists https://shop.example/b.xml, but there is no file" in lines[1]

    def test_an_empty_directory_fails(self, tmp_path: Path):
        """Or a wrong path would pass in CI for ever."""
        [line, _] = failing(tmp_path)
        assert "has no sitemap files" in line

    def test_nothing_is_found_in_what_is_built(self, publish, media_root: Path):
        """The public tree; of a plain file and a compressed one only that is read."""
        make_products(25)
        publish(limited(10))
        tree = media_root / "sitemaps" / "public"
        [packed] = tree.glob("sitemap-products-2.xml.gz")
        plain = packed.with_suffix("")
        plain.write_bytes(gzip.decompress(packed.read_bytes()))
        assert check(tree) == "4 files, 28 entries: 0 errors, 0 warnings\n"


class TestServer:
    def test_an_index_leads_to_its_files(self, server: Server):
        """Compressed ones too."""
        assert check(f"{server.url}/sitemap.xml").startswith("3 files, 4 entries: 0 ")

    def test_encoded_answers_are_read(self, server: Server):
        """As servers send them to crawlers."""
        server.answers["/a.xml"] = (
            200,
            {"Content-Encoding": "gzip"},
            gzip.compress(server.answers["/a.xml"][2]),
        )
        check(f"{server.url}/sitemap.xml")

    def test_other_hosts_are_not_asked(self, server: Server):
        """A file that is listed there is a problem."""
        with socket.create_server(("127.0.0.1", 0)) as other:
            url = f"http://localhost:{other.getsockname()[1]}/"
            server.put("/sitemap.xml", index("/a.xml"))
            content = index("/").replace(b"https://shop.example/", url.encode())
            server.put("/two.xml", content)
            [line, _] = failing(f"{server.url}/two.xml")
            other.setblocking(False)
            with pytest.raises(BlockingIOError):
                other.accept()
        assert "error loc-host" in line
        assert "compare BASE_URL" in line

    def test_redirects_are_not_followed(self, server: Server):
        """The line says which URL to give."""
        server.put("/old.xml", b"", 301, Location=f"{server.url}/sitemap.xml")
        [line, _] = failing(f"{server.url}/old.xml")
        words = f"it redirects to {server.url}/sitemap.xml: list and submit that URL"
        assert f"/old.xml: error fetch-redirect: {words}" in line
        assert server.asked == ["/old.xml"]

    def test_answers_that_are_no_sitemap(self, server: Server):
        """Each has its rule."""
        server.put("/html.xml", b"<!doctype html><html>Please log in</html>")
        server.put("/down.xml", b"Sorry", 503)
        server.put("/sitemap.xml", index("/html.xml", "/down.xml", "/none.xml"))
        lines = failing(f"{server.url}/sitemap.xml")[:-1]
        assert [line.removeprefix(server.url).split(": ")[:2] for line in lines] == [
            ["/html.xml", "error html"],
            ["/down.xml", "error http-status"],
            ["/none.xml", "error http-status"],
        ]

    def test_a_url_must_be_one(self):
        """Credentials are not sent."""
        assert "credentials" in failing("http://me:secret@127.0.0.1/")[0]
        assert "error unreachable" in failing("http://a..b/")[0]

    def test_servers_that_are_gone(self):
        """They answer no HTTP, or nothing."""
        with start_odd(lambda client, _: client.sendall(b"HTTP/1.1 no")) as odd:
            assert "could not be read" in failing(f"{odd.url}sitemap.xml")[0]
        line, _ = failing(f"{odd.url}sitemap.xml")
        assert "error unreachable: it could not be read: [Errno" in line


def test_it_says_what_to_give():
    """A choice between files and sources."""
    for arguments, words in (
        ([], r"^Name files, directories or URLs, or add --audit or --sources\.$"),
        (["a.xml", "--sources"], "--sources"),
    ):
        with pytest.raises(CommandError, match=words):
            call_command("check_sitemaps", *arguments)
