"""Mistakes that only what a site answers shows, found by ``check_sitemaps``."""

from __future__ import annotations

import gzip

import pytest

POST = "https://blog.example/blog/post-0/"

NO_INDEX = '<meta name="robots" content="noindex">'
CANONICAL = '<link rel="canonical" href="http://blog.example/blog/post-0/">'

TWICE = """
@register("again")
class AgainSource(PostSource):
    pass
"""

#: Of each mistake what is replaced in a file or appended to it, and words of the line
#: that names it.
MISTAKES: dict[str, tuple[tuple[str, str, str], list[str]]] = {
    "a view that needs a login": (
        ("blog/views.py", "def post", "@login_required\ndef post"),
        ["page-redirect", POST, "redirects to /accounts/login/?next=/blog/post-0/"],
    ),
    "a view that fails": (
        ("blog/views.py", "return HttpResponse(slug)", "return slug.title[0]"),
        ["page-error", POST, "answers 500", "TypeError", "leave it out"],
    ),
    "noindex from the staging site": (
        ("blog/views.py", "(slug)", f"({NO_INDEX!r})"),
        ["page-noindex", POST, "'noindex'", "remove it"],
    ),
    "a canonical URL without TLS": (
        ("blog/views.py", "(slug)", f"({CANONICAL!r})"),
        ["page-canonical", POST, "http://blog.example/blog/post-0/: list that"],
    ),
    "robots.txt that forbids what is listed": (
        (
            "mysite/settings.py",
            "",
            'SITEMAPS_PLUS["ROBOTS"] = {"RULES": {"DISALLOW": "/blog"}}',
        ),
        ["page-blocked", "robots.txt forbids", POST, "allow it, or leave it out"],
    ),
    "two sections with the same pages": (
        ("blog/sitemaps.py", "", TWICE),
        ["loc-duplicate", POST, "/sitemap-posts-1.xml", "list it once"],
    ),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_of_pages_is_found_by_the_audit(project, name):
    """With value, reason and remedy; the project as it began has none."""
    project.rows(1)
    (path, old, new), words = MISTAKES[name]
    project.replace("blog/views.py", "from", LOGIN)
    if old:
        project.replace(path, old, new)
    else:
        project.write(path, f"{(project.directory / path).read_text()}\n{new}\n")
    done = project.manage("check_sitemaps", "--audit")
    [line] = [line for line in done.stdout.splitlines() if f"error {words[0]}" in line]
    assert [word for word in words if word not in line] == []
    assert done.returncode == 1
    assert done.stderr == "CommandError: 1 error found.\n"


LOGIN = "from django.contrib.auth.decorators import login_required\nfrom"


def test_what_is_built_is_fine_until_somebody_edits_it(project):
    """A line, and the remedy; a path that is wrong fails too."""
    project.rows(2)
    assert project.manage("build_sitemaps").returncode == 0
    done = project.manage("check_sitemaps", "media/sitemaps/public", "--audit")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "4 files, 6 entries: 0 errors, 0 warnings\n"
    path = project.directory / "media/sitemaps/public/sitemap-posts-1.xml.gz"
    text = gzip.decompress(path.read_bytes()).replace(b"blog/post-1", b"?a=1&b=\xfc")
    path.unlink()
    path.write_bytes(gzip.compress(text))
    done = project.manage("check_sitemaps", str(path), "media/sitemap.xml")
    assert f"{path}:5: error utf-8: byte 0xfc is not UTF-8" in done.stdout
    assert "media/sitemap.xml: error unreachable: No such file" in done.stdout
    assert done.returncode == 1
