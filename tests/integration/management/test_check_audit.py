"""``check_sitemaps --audit``: the project is asked for what it lists."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from datetime import datetime
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from django_sitemaps_plus import Alternate, Entry, Source
from django_sitemaps_plus.building.build import build
from django_sitemaps_plus.conf import get_site
from django_sitemaps_plus.diagnostics.audit import (
    MAX_KEPT,
    MAX_WORDS,
    keep_findings,
    read_findings,
)
from tests.support.faults import fail_queries, writes_to

from . import audited


class Listed(Source):
    """Entries of some paths."""

    paths: Any = ()

    def entries(self, site: Any) -> Iterator[Entry]:
        for path in self.paths:
            yield Entry(f"{audited.ORIGIN}/{path}")


@pytest.fixture(autouse=True)
def project(settings, configure, sections) -> Any:
    """Have a project with pages that are good and bad."""
    settings.ROOT_URLCONF = audited.__name__
    configure(ROBOTS={"RULES": {"DISALLOW": "/private/"}})
    return sections


def listing(*paths: str) -> type[Listed]:
    """Return a source of paths."""
    return type("Paths", (Listed,), {"paths": paths})


def run(*arguments: str) -> list[str]:
    """Return what the command prints, whether it fails or not."""
    out = io.StringIO()
    try:
        call_command("check_sitemaps", "--audit", *arguments, stdout=out)
    except CommandError as error:
        out.write(f"failed: {error}\n")
    return out.getvalue().splitlines()


def test_nothing_is_found_in_pages_that_are_fine(project):
    """Canonical in other words, a file, and no cookie between two requests."""
    project.register("good", listing(*audited.GOOD))
    assert run() == ["2 files, 9 entries: 0 errors, 0 warnings"]


def test_each_page_is_found_by_its_rule(project):
    """With its section's page, and what to do."""
    bad = {rule: path for rule, (path, _) in audited.BAD.items()}
    project.register("bad", listing(*bad.values(), "gone/"))
    lines = run()
    source = f"{audited.ORIGIN}/sitemap-bad-1.xml"
    url = f"{audited.ORIGIN}/{{}}"
    assert [line.removeprefix(f"{source}: error ") for line in lines[:-2]] == [
        f"page-redirect: {url.format('moved/')} redirects to /good/: list that "
        "page, or none [Page with redirect]",
        f"page-forbidden: {url.format('forbidden/')}: the project answers 403 Forbidden"
        ". Mend it, or leave it out [Blocked due to access forbidden (403)]",
        f"page-error: {url.format('broken/')}: the project answers 500 Internal Server "
        "Error: RuntimeError: odd. Mend it, or leave it out [Server error (5xx)]",
        f"page-blocked: robots.txt forbids {url.format('private/a/')}: allow it, or "
        "leave it out [URL blocked by robots.txt]",
        f"page-noindex: {url.format('noindex/')} has a header X-Robots-Tag of 'none': "
        "remove it, or leave the page out [Excluded by 'noindex' tag]",
        f"page-noindex: {url.format('noindex/')} has a <meta> of 'NOINDEX, "
        "follow': remove it, or leave the page out [Excluded by 'noindex' tag]",
        f"page-canonical: {url.format('double/')} has the canonical URL "
        f"{url.format('good/')}: list that [Alternate page with proper canonical tag]",
        f"page-canonical: {url.format('double/')} has the canonical URL //[: list that "
        "[Alternate page with proper canonical tag]",
        f"page-missing: {url.format('gone/')}: the project answers 404 Not Found. "
        "Mend it, or leave it out [Not found (404)]",
    ]
    assert lines[-2:] == [
        "2 files, 8 entries: 9 errors, 0 warnings",
        "failed: 9 errors found.",
    ]


def test_a_sample_of_each_file_is_asked(project):
    """Its first and its last entry are; 0 is all."""
    source = listing(*[f"gone/{number}/" for number in range(25)])
    project.register("gone", type("Gone", (source,), {"limit": 20}))
    assert "25 errors" in run("--sample", "0")[-2]
    lines = run("--sample", "2")
    assert [re.search("gone/([0-9]+)/", line)[1] for line in lines[:-2]] == [
        *("0", "19"),
        *("20", "24"),
    ]


def test_a_sample_knows_no_rhythm(project):
    """Versions of pages alternate, and every second of them may be missing."""
    paths = [path for n in range(20) for path in (f"gone/{n}/", f"own/?{n}")]
    project.register("pages", listing(*paths))
    found = run("--sample", "10")
    assert 1 < len(found) - 2 < 10
    assert found == run("--sample", "10")
    numbers = [int(re.search("gone/([0-9]+)/", it)[1]) for it in found[:-2]]
    assert len({number // 2 for number in numbers}) == len(numbers)


def test_only_pages_of_a_section_are_asked(project):
    """The files of all are checked."""
    project.register("good", listing("good/"))
    project.register("bad", listing("gone/", "good/#a"))
    [line, *_] = run("--section", "good")
    assert "error loc-fragment" in line
    assert "page-missing" not in "".join(run("--section", "good"))
    assert "page-missing" in "".join(run("--section", "bad"))
    assert "No section 'none'" in run("--section", "none")[-1]


def test_sections_are_compared(project):
    """A URL twice, and a version that does not name the other."""

    class Versions(Source):
        def entries(self, site: Any) -> Iterator[Entry]:
            good, own = f"{audited.ORIGIN}/good/", f"{audited.ORIGIN}/own/"
            german, french = Alternate("de", good), Alternate("fr", own)
            yield Entry(good, alternates=(german, french))
            yield Entry(own, alternates=(french,))

    project.register("versions", Versions)
    project.register("again", listing("own/"))
    text = "".join(run())
    assert "error loc-duplicate: https://example.com/own/ is also in" in text
    assert "error alternate-reciprocal: https://example.com/good/ names" in text
    assert "2 errors" in text


def test_a_host_that_is_not_allowed(project, settings):
    """The message names the setting; in development all are allowed."""
    settings.ALLOWED_HOSTS = ["localhost"]
    project.register("good", listing("good/"))
    text = "".join(run())
    assert "http-status" in text
    assert "is the host in ALLOWED_HOSTS?" in text
    settings.DEBUG = True
    assert run() == ["2 files, 2 entries: 0 errors, 0 warnings"]


def test_a_project_below_a_path(project, configure):
    """The path goes to the script name, as a web server does it."""
    configure(BASE_URL=f"{audited.ORIGIN}/app")
    project.register("own", listing("app/own/", "app/gone/app/own/", "other/app/own/"))
    rules = [line.split(": ")[1] for line in run()[:-2]]
    assert rules == ["error loc-directory", "error page-missing"]


def test_a_source_that_fails(project):
    """The rest is checked."""

    class Broken(Source):
        def entries(self, site: Any) -> Iterator[Entry]:
            raise ValueError("odd")

    project.register("good", listing("good/"))
    project.register("broken", Broken)
    lines = run()
    assert "answers 503 Service Unavailable; manage.py sitemap_doctor" in lines[0]


def test_it_needs_an_origin_and_urls(project, settings):
    """The message says what is missing."""
    settings.ROOT_URLCONF = "django.contrib.auth.urls"
    assert run() == [
        "failed: NoReverseMatch: 'sitemaps_plus' is not a registered namespace."
    ]
    settings.SITEMAPS_PLUS = {}
    assert "BASE_URL" in run()[-1]


class TestFindings:
    """What the dashboard shows later: of the site's own sections, all of them."""

    def test_they_are_kept_until_the_next_audit(self, project):
        project.register("gone", listing("gone/", "moved/"))
        began = timezone.now()
        assert run()[-1] == "failed: 2 errors found."
        findings = read_findings(get_site())
        assert began <= datetime.fromisoformat(findings.pop("at")) <= timezone.now()
        problems = findings.pop("problems")
        assert findings == {
            "files": 2,
            "entries": 3,
            "errors": 2,
            "warnings": 0,
            "counts": {"page-missing": 1, "page-redirect": 1},
        }
        assert [sorted(problem) for problem in problems] == 2 * [
            ["is_warning", "line", "message", "rule", "source", "words"]
        ]
        assert problems[0]["words"] == "Not found (404)"
        project.unregister("gone")
        project.register("good", listing("good/"))
        run("--json")
        findings = read_findings(get_site())
        assert (findings["entries"], findings["problems"]) == (2, [])

    def test_a_part_is_not_taken_for_the_whole(self, project, tmp_path):
        """Nor files that others have made."""
        project.register("gone", listing("gone/"))
        run("--section", "gone")
        (tmp_path / "a.xml").write_text("odd")
        run(str(tmp_path / "a.xml"))
        assert read_findings(get_site()) is None

    def test_they_are_bounded_and_printable(self, project):
        """Whatever texts the project answers with."""
        paths = [f"gone/{number}/?{'a' * 1_500}" for number in range(300)]
        project.register("gone", type("Gone", (listing(*paths),), {"limit": 10}))
        assert run("--sample", "0")[-1] == "failed: 300 errors found."
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
        run()
        configure(BASE_URL="https://other.example")
        project.unregister("good")
        project.register("good", type("Own", (Listed,), {}))
        assert build().problems == []

    def test_a_database_that_cannot_be_written_is_a_sentence(self, project, capsys):
        project.register("good", listing("good/"))
        with fail_queries(writes_to("sitemaps_plus_section")):
            assert run() == ["2 files, 2 entries: 0 errors, 0 warnings"]
        [line] = capsys.readouterr().err.splitlines()
        assert line.startswith("The findings are not kept: OperationalError: the ser")
