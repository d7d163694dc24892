"""``check_sitemaps`` on files, on a server, on the project itself, and on sources."""

from __future__ import annotations

import gzip
import io
import json
import re
import socket
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from django_sitemaps_plus import Alternate, Entry, ModelSource, Source
from django_sitemaps_plus.building.build import build
from django_sitemaps_plus.diagnostics import advice
from django_sitemaps_plus.diagnostics.audit import (
    MAX_KEPT,
    MAX_WORDS,
    keep_findings,
    read_findings,
)
from django_sitemaps_plus.models import Figure
from django_sitemaps_plus.sites import get_site
from tests.support.faults import fail_queries, writes_to
from tests.support.servers.odd_http import start_odd
from tests.support.shop import ProductSource, limited, make_products
from tests.support.testapp.models import Label, Product
from tests.support.validation import entry, index, urlset

from . import audited


def report_of(*arguments: object) -> dict[str, Any]:
    """Return what the command says for machines; it fails where there are errors."""
    out, has_failed = io.StringIO(), False
    try:
        call_command("check_sitemaps", *map(str, arguments), "--json", stdout=out)
    except CommandError:
        has_failed = True
    report: dict[str, Any] = json.loads(out.getvalue())
    assert bool(report["errors"]) is has_failed
    return report


def rules_of(*arguments: object) -> list[str]:
    """Return the rule of each problem."""
    return [it["rule"] for it in report_of(*arguments)["problems"]]


def numbers_of(report: dict[str, Any]) -> tuple[int, ...]:
    """Return how many files, entries, errors and warnings there are."""
    return tuple(report[it] for it in ("files", "entries", "errors", "warnings"))


class TestFiles:
    def test_each_problem_is_a_line_and_the_last_counts(self, tmp_path, capsys, run):
        """A rule is shown ten times a file."""
        path = tmp_path / "a.xml"
        path.write_bytes(
            urlset(
                entry("/a"),
                entry("/b", "<priority>2</priority>"),
                *[entry(f"/{n}#x") for n in range(25)],
            )
        )
        with pytest.raises(CommandError, match=r"^26 errors found\.$"):
            call_command("check_sitemaps", str(path))
        lines = capsys.readouterr().out.splitlines()
        assert lines[0] == (
            f"{path}:4: error priority: <priority>: priority '2' is not a number from "
            "0.0 to 1.0 [Invalid tag value]"
        )
        assert len(lines) == 1 + 10 + 2
        assert lines[-2:] == [
            f"{path}: 15 more of loc-fragment",
            "1 file, 27 entries: 26 errors, 0 warnings",
        ]
        path.write_bytes(urlset())  # a warning fails nothing
        said = run("check_sitemaps", str(path))
        assert said.endswith("1 file, 0 entries: 0 errors, 1 warning\n")

    def test_json_is_all_that_is_printed(self, tmp_path):
        """With the words of Search Console."""
        path = tmp_path / "a.xml"
        path.write_bytes(urlset(entry("/a#b")))
        assert report_of(path) == {
            "files": 1,
            "entries": 1,
            "errors": 1,
            "warnings": 0,
            "is_cut": False,
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

    def test_the_index_of_a_directory_says_where_its_files_are_served(self, tmp_path):
        """So directories and duplicates are checked; other files are not read."""
        write = Path.write_bytes
        write(tmp_path / "a.xml", urlset(entry("/shop/a"), entry("/b")))
        write(tmp_path / "b.xml.gz", gzip.compress(urlset(entry("/shop/a"))))
        write(tmp_path / "z.xml.gz", gzip.compress(index("/shop/a.xml", "/b.xml")))
        write(tmp_path / "notes.md", b"none")
        report = report_of(tmp_path)
        places = [(it["source"], it["line"], it["rule"]) for it in report["problems"]]
        assert places == [
            (f"{tmp_path / 'a.xml'}", 4, "loc-directory"),
            (f"{tmp_path / 'b.xml.gz'}", 3, "loc-duplicate"),
        ]
        assert numbers_of(report) == (3, 2, 2, 0)

    def test_a_listed_file_must_be_there(self, tmp_path):
        (tmp_path / "sitemap.xml").write_bytes(index("/a.xml", "/b.xml"))
        (tmp_path / "a.xml").write_bytes(index("/c.xml"))
        problems = report_of(tmp_path)["problems"]
        found = sorted([it["rule"] for it in problems])
        assert found == ["index-nested", "unreachable", "unreachable"]
        assert "lists https://shop.example/b.xml, but there" in problems[1]["message"]

    @pytest.mark.parametrize("name", ["", "none.xml"])
    def test_an_empty_directory_or_no_file_fails(self, tmp_path, name):
        """Or a wrong path would pass in CI for ever."""
        [problem] = report_of(tmp_path / name)["problems"]
        assert problem["rule"] == "unreachable"
        assert problem["source"] == str(tmp_path / name)

    def test_nothing_is_found_in_what_is_built(self, shop, media_root):
        """The public tree; of a plain file and a compressed one only that is read."""
        shop(25)
        tree = media_root / "sitemaps" / "public"
        [packed] = tree.glob("sitemap-products-2.xml.gz")
        packed.with_suffix("").write_bytes(gzip.decompress(packed.read_bytes()))
        assert numbers_of(report_of(tree)) == (4, 25, 0, 0)

    @pytest.mark.parametrize("arguments", [[], ["a.xml", "--sources"]])
    def test_files_or_sources_must_be_chosen(self, arguments, run):
        with pytest.raises(CommandError, match=r"or add --audit or --sources\.$"):
            run("check_sitemaps", *arguments)


def answer(content: bytes, status: str = "200 OK", **headers: str) -> bytes:
    """Return an answer of HTTP."""
    names = {"Content-Length": str(len(content)), **headers}
    head = "".join([f"{n.replace('_', '-')}: {v}\r\n" for n, v in names.items()])
    return f"HTTP/1.1 {status}\r\n{head}\r\n".encode() + content


class TestServer:
    @pytest.fixture
    def answers(self) -> dict[str, bytes]:
        """Give what the server answers, by path."""
        return {}

    @pytest.fixture
    def server(self, answers: dict[str, bytes]) -> Iterator[Any]:
        """Serve an index with two pages, one of them compressed."""

        def reply(client: socket.socket, request: bytes) -> None:
            path = request.split()[1].decode()
            found = answers.get(path, answer(b"", "404 Not Found"))
            client.sendall(found)

        with start_odd(reply) as server:
            answers["/sitemap.xml"] = answer(self.at(server, index("/a.xml", "/b.gz")))
            answers["/a.xml"] = answer(self.at(server, urlset(entry("/a"))))
            content = gzip.compress(self.at(server, urlset(entry("/b"))))
            answers["/b.gz"] = answer(content)
            yield server

    def at(self, server: Any, content: bytes) -> bytes:
        """Return a file as this server would have it."""
        return content.replace(b"https://shop.example/", server.url.encode())

    def test_an_index_leads_to_its_files(self, server, answers):
        content = gzip.compress(self.at(server, urlset(entry("/a"))))
        for coded in (answers["/a.xml"], answer(content, Content_Encoding="gzip")):
            answers["/a.xml"] = coded
            found = report_of(f"{server.url}sitemap.xml")
            assert numbers_of(found) == (3, 2, 0, 0)

    def test_other_hosts_are_not_asked(self, server, answers):
        """A file that is listed there is a problem."""
        with socket.create_server(("127.0.0.1", 0)) as other:
            url = f"http://localhost:{other.getsockname()[1]}/"
            content = index("/").replace(b"https://shop.example/", url.encode())
            answers["/two.xml"] = answer(content)
            [problem] = report_of(f"{server.url}two.xml")["problems"]
            other.setblocking(False)
            with pytest.raises(BlockingIOError):
                other.accept()
        assert problem["rule"] == "loc-host"
        assert "compare the site's address" in problem["message"]

    def test_redirects_are_not_followed(self, server, answers):
        location = f"{server.url}sitemap.xml"
        answers["/old.xml"] = answer(b"", "301 Moved", Location=location)
        [problem] = report_of(f"{server.url}old.xml")["problems"]
        assert problem["rule"] == "fetch-redirect"
        assert location in problem["message"]
        assert len(server.requests) == 1

    def test_answers_that_are_no_sitemap(self, server, answers):
        answers["/html.xml"] = answer(b"<!doctype html><html>Please log in</html>")
        answers["/down.xml"] = answer(b"Sorry", "503 Service Unavailable")
        listed = index("/html.xml", "/down.xml", "/none.xml")
        answers["/sitemap.xml"] = answer(self.at(server, listed))
        rules = rules_of(f"{server.url}sitemap.xml")
        assert rules == ["html", "http-status", "http-status"]

    def test_what_cannot_be_asked(self):
        """Credentials, which are not sent; no host; no HTTP; and nothing at all."""
        problem, *_ = report_of("http://me:secret@127.0.0.1/")["problems"]
        assert "credentials" in problem["message"]
        assert rules_of("http://a..b/") == ["unreachable"]
        with start_odd(lambda client, _: client.sendall(b"HTTP/1.1 no")) as odd:
            assert rules_of(f"{odd.url}sitemap.xml") == ["unreachable"]
        assert rules_of(f"{odd.url}sitemap.xml") == ["unreachable"]


def listing(*paths: str, **attributes: Any) -> type[Source]:
    """Return a source of paths."""
    found = [Entry(f"{audited.ORIGIN}/{path}") for path in paths]
    entries = {"entries": lambda self, origin: iter(found)}
    return type("Paths", (Source,), entries | attributes)


def fail(self: Any, *args: Any) -> Any:
    """Be a method of a source that fails."""
    raise ValueError("odd")


@pytest.fixture
def project(settings: Any, configure: Any, sections: Any) -> Any:
    """Have a project with pages that are good and bad."""
    settings.ROOT_URLCONF = audited.__name__
    configure(ROBOTS={"RULES": {"DISALLOW": "/private/"}})
    return sections


class TestAudit:
    """``--audit``: the project is asked for what it lists."""

    def test_nothing_is_found_in_pages_that_are_fine(self, project):
        """Canonical in other words, a file, and no cookie between two requests."""
        project.register("good", listing(*audited.GOOD))
        assert numbers_of(report_of("--audit")) == (2, 8, 0, 0)

    def test_each_page_is_found_by_its_rule(self, project):
        bad = {rule: path for rule, (path, _) in audited.BAD.items()}
        bad["page-missing"] = "gone/"
        project.register("bad", listing(*bad.values()))
        report = report_of("--audit")
        assert numbers_of(report) == (2, 7, 9, 0)
        assert report["counts"] == dict.fromkeys(bad, 1) | {
            "page-noindex": 2,  # in a header, and in a <meta>
            "page-canonical": 2,
        }
        for it in report["problems"]:
            assert it["source"] == f"{audited.ORIGIN}/sitemap-bad-1.xml"
            assert f"{audited.ORIGIN}/{bad[it['rule']]}" in it["message"]
        [problem] = [it for it in report["problems"] if it["rule"] == "page-error"]
        words = "the project answers 500 Internal Server Error: RuntimeError: odd."
        assert words in problem["message"]

    def test_a_sample_of_each_file_is_asked(self, project):
        """Its first and its last entry are; 0 is all."""
        paths = [f"gone/{number}/" for number in range(25)]
        project.register("gone", listing(*paths, limit=20))
        assert report_of("--audit", "--sample", "0")["errors"] == 25
        found = report_of("--audit", "--sample", "2")["problems"]
        numbers = [re.search("gone/([0-9]+)/", it["message"])[1] for it in found]
        assert numbers == ["0", "19", "20", "24"]

    def test_it_ends_in_time_and_says_that_it_is_not_complete(self, project, run):
        """Its number is no part of the trend, in which it would be a fall."""
        project.register("gone", listing("gone/1/", "gone/2/", limit=1))
        report_of("--audit")
        report = report_of("--audit", "--seconds", "0")
        assert (report["is_cut"], report["files"], report["errors"]) == (True, 1, 0)
        assert read_findings(get_site())["is_cut"]
        assert "There was no time" in run("check_sitemaps", "--audit", "--seconds=0")
        [found] = Figure.objects.filter(kind="findings").values_list("value")
        assert found == (2,)

    def test_a_sample_knows_no_rhythm(self, project):
        """Versions of pages alternate, and every second of them may be missing."""
        paths = [path for n in range(20) for path in (f"gone/{n}/", f"own/?{n}")]
        project.register("pages", listing(*paths))
        found = report_of("--audit", "--sample", "10")["problems"]
        assert 1 < len(found) < 10
        assert found == report_of("--audit", "--sample", "10")["problems"]
        numbers = [int(re.search("gone/([0-9]+)/", it["message"])[1]) for it in found]
        assert len({number // 2 for number in numbers}) == len(numbers)

    def test_only_pages_of_a_section_are_asked(self, project, run):
        project.register("good", listing("good/"))
        project.register("bad", listing("gone/", "good/#a"))
        assert rules_of("--audit", "--section", "good") == ["loc-fragment"]
        found = rules_of("--audit", "--section", "bad")
        assert sorted(found) == ["loc-fragment", "page-canonical", "page-missing"]
        for kind in ("--audit", "--sources"):
            with pytest.raises(CommandError, match=r"^No section 'none'\."):
                run("check_sitemaps", kind, "--section", "none")

    def test_sections_are_compared(self, project):
        good, own = f"{audited.ORIGIN}/good/", f"{audited.ORIGIN}/own/"
        german, french = Alternate("de", good), Alternate("fr", own)
        found = [Entry(good, alternates=(german, french))]
        found.append(Entry(own, alternates=(french,)))
        versions = listing(entries=lambda self, origin: iter(found))
        project.register("versions", versions)
        project.register("again", listing("own/"))
        found = rules_of("--audit")
        assert sorted(found) == ["alternate-reciprocal", "loc-duplicate"]

    def test_a_host_that_is_not_allowed(self, project, settings):
        """The message names the setting; in development all are allowed."""
        settings.ALLOWED_HOSTS = ["localhost"]
        project.register("good", listing("good/"))
        [problem] = report_of("--audit")["problems"]
        assert problem["rule"] == "http-status"
        assert "is the host in ALLOWED_HOSTS?" in problem["message"]
        settings.DEBUG = True
        assert rules_of("--audit") == []

    def test_a_project_below_a_path(self, project, configure):
        """The path goes to the script name, as a web server does it."""
        configure(BASE_URL=f"{audited.ORIGIN}/app")
        paths = ("app/own/", "app/gone/app/own/", "other/app/own/")
        project.register("own", listing(*paths))
        assert rules_of("--audit") == ["loc-directory", "page-missing"]

    def test_a_source_that_fails(self, project):
        project.register("good", listing("good/"))
        project.register("broken", listing(entries=fail))
        problem, *_ = report_of("--audit")["problems"]
        assert "503 Service Unavailable; manage.py sitemap_doctor" in problem["message"]

    def test_it_needs_an_origin_and_urls(self, project, settings, run):
        settings.ROOT_URLCONF = "django.contrib.auth.urls"
        with pytest.raises(CommandError, match="does not lead to the sitemaps"):
            run("check_sitemaps", "--audit")
        settings.SITEMAPS_PLUS = {}
        with pytest.raises(CommandError, match="BASE_URL"):
            run("check_sitemaps", "--audit")


class TestFindings:
    """The dashboard shows them later: those of all the site's own sections."""

    def test_they_are_kept_until_the_next_audit(self, project):
        project.register("gone", listing("gone/", "moved/"))
        began = timezone.now()
        report = report_of("--audit")
        findings = read_findings(get_site())
        assert began <= datetime.fromisoformat(findings.pop("at")) <= timezone.now()
        assert findings.pop("since")
        assert findings == report
        assert report["counts"] == {"page-missing": 1, "page-redirect": 1}
        assert report["problems"][0]["words"] == "Not found (404)"
        project.unregister("gone")
        project.register("good", listing("good/"))
        report_of("--audit")
        findings = read_findings(get_site())
        assert (findings["entries"], findings["problems"]) == (1, [])

    def test_a_part_is_not_taken_for_the_whole(self, project, tmp_path):
        """Nor files that others have made."""
        project.register("gone", listing("gone/"))
        report_of("--audit", "--section", "gone")
        (tmp_path / "a.xml").write_text("odd")
        report_of(tmp_path / "a.xml")
        assert read_findings(get_site()) is None

    def test_they_are_bounded_and_printable(self, project):
        paths = [f"gone/{number}/?{'a' * 1_500}" for number in range(300)]
        project.register("gone", listing(*paths, limit=10))
        assert report_of("--audit", "--sample", "0")["errors"] == 300
        findings = read_findings(get_site())
        assert findings["counts"] == {"page-missing": 300}
        assert len(findings["problems"]) == MAX_KEPT
        assert {len(it["message"]) for it in findings["problems"]} == {MAX_WORDS}
        odd = {**findings["problems"][0], "message": "a\x00\ud800"}
        keep_findings(get_site(), {"problems": [odd]})
        assert read_findings(get_site())["problems"][0]["message"] == "a\\x00\\ud800"

    def test_a_build_may_come_later_and_from_another_origin(self, project, configure):
        """An audit does not say to whom the database belongs."""
        project.register("good", listing("good/"))
        report_of("--audit")
        configure(BASE_URL="https://other.example")
        project.unregister("good")
        project.register("good", listing())
        assert build().problems == []

    def test_a_database_that_cannot_be_written_is_a_sentence(self, project, run):
        project.register("good", listing("good/"))
        with fail_queries(writes_to("sitemaps_plus_section")):
            report, said = run("check_sitemaps", "--audit").splitlines()
        assert report == "2 files, 1 entry: 0 errors, 0 warnings"
        assert said.startswith("The findings are not kept: OperationalError: the ser")


LINE = 'location = Route("product-detail", slug="slug")'


class Methods(ModelSource):
    """A route can replace one of two methods."""

    model = Product

    def priority(self, product: Product) -> float:
        return 0.5


class TestSources:
    """``--sources``: how fast they are, and what would be faster."""

    @pytest.fixture(autouse=True)
    def registered(self, monkeypatch: pytest.MonkeyPatch, sections: Any) -> None:
        """Have three sections; suggest what is slower too, as few rows take no time."""
        monkeypatch.setattr(advice, "MIN_FACTOR", 0)
        make_products(5)
        sections.register("products", Methods)
        sections.register("declared", ProductSource)
        empty = {"model": Label, "location": "code"}
        sections.register("labels", type("Empty", (ModelSource,), empty))

    @pytest.fixture
    def shown(self, run: Any) -> Callable[..., str]:
        """Return what gives what it writes, with 0 for each number of the clock's."""
        words = r"[\d,.]+(?= entries/s|/s$| times)"

        def shown(*arguments: str) -> str:
            said = run("check_sitemaps", "--sources", *arguments)
            return re.sub(words, "0", said, flags=re.M)

        return shown

    def test_each_section_has_its_speed_its_form_and_a_faster_line(self, shown):
        assert shown().splitlines() == [
            f"products: 0 entries/s. {LINE} gives the same URLs at 0/s",
            "  instances: get_absolute_url, priority",
            "  0 times as fast",
            "declared: 0 entries/s",
            "  columns",
            "labels: no entries",
            "  columns",
        ]

    def test_figures_have_two_digits(self, monkeypatch, run):
        times = iter([0, 0.3, 0, 0.1, 0, 0.2] + [0, 0.00093] * 3)
        monkeypatch.setattr(advice, "perf_counter", lambda: next(times))
        said = run("check_sitemaps", "--sources", "--section", "products")
        assert "products: 50 entries/s. " in said
        assert " at 5,400/s\n" in said
        assert "  110 times as fast\n" in said

    def test_sections_can_be_chosen_and_verified(self, shown):
        lines = shown("--verify", "--section", "products", "--section", "labels")
        assert "products: the same on 5 rows\nlabels: no entries\n" in lines
        assert "declared: 0" not in lines

    def test_json_has_all_of_it(self, run):
        said = run("check_sitemaps", "--sources", "--verify", "--json")
        products, declared, labels = json.loads(said)
        suggestion = products["suggestion"]
        assert products["entries_per_second"] > 0
        assert suggestion.pop("entries_per_second") > 0
        assert suggestion.pop("factor") > 0
        assert suggestion == {"line": LINE}
        assert (products["verified_rows"], declared["verified_rows"]) == (5, None)
        assert labels == {
            "section": "labels",
            "form": "columns",
            "entries_per_second": None,
            "suggestion": None,
            "verified_rows": None,
            "problem": "",
        }

    @pytest.mark.parametrize("options", [[], ["--json"]])
    def test_one_that_fails_stops_no_other(self, sections, capsys, options):
        sections.register("broken", limited(10, get_queryset=fail))
        sections.register("more", ProductSource)
        said = r"^broken: .* not be read: ValueError \(\w+\): odd"
        with pytest.raises(CommandError, match=said):
            call_command("check_sitemaps", "--sources", *options)
        out = capsys.readouterr().out
        assert "more" in out
        assert ("broken" in out) == bool(options)

    def test_a_difference_fails(self, capsys, monkeypatch, shown):
        def special(product: Product) -> str:
            is_last = product.slug == "product-00004"
            return "/special/" if is_last else product.get_absolute_url()

        monkeypatch.setattr(advice, "SAMPLE_ENTRIES", 4)
        monkeypatch.setattr(Methods, "location", staticmethod(special), raising=False)
        assert LINE in shown()
        with pytest.raises(CommandError, match=r"^products: location = .*, not https"):
            call_command("check_sitemaps", "--sources", "--verify")
        assert LINE not in capsys.readouterr().out
