"""What commands say of a project with a mistake: its place, and how to mend it."""

import gzip
import json
from typing import Any

import pytest
from django.template.defaultfilters import pluralize

PRODUCTION = """
DEBUG = False
ALLOWED_HOSTS = ["blog.dev"]
SITEMAPS_PLUS |= {"BASE_URL": "https://blog.dev", "ROBOTS": {}}
DATABASES["default"]["OPTIONS"] = {
    "transaction_mode": "IMMEDIATE", "init_command": "PRAGMA journal_mode=WAL;"
}
"""

#: No place for files, a broker and a cache that refuse, and a source that fails.
SERVICES = """
from celery import Celery
Celery("mysite", broker="redis://127.0.0.1:1/0").set_default()
SITEMAPS_PLUS["EXECUTOR"] = "django_sitemaps_plus.tasks.CeleryExecutor"
MEDIA_ROOT = BASE_DIR / "manage.py"
CACHES = {"default": {
    "BACKEND": "django.core.cache.backends.redis.RedisCache",
    "LOCATION": "redis://127.0.0.1:1/0",
}}
"""

#: An engine that lacks its key.
ENGINE = """
ALLOWED_HOSTS = []
DEBUG = True
SITEMAPS_PLUS["ENGINES"] = {"indexnow": {
    "BACKEND": "django_sitemaps_plus.notifications.IndexNow",
    "OPTIONS": {"key": None},
}}
"""

INCLUDE = 'path("", include("django_sitemaps_plus.urls"))'

#: Of each situation what is appended to the settings, what is replaced in a file, and
#: all crosses in their order: words of each, and of its remedy.
SITUATIONS: dict[str, tuple[str, list[str], dict[str, tuple[str, str]]]] = {
    "services": (
        SERVICES,
        ["blog/sitemaps.py", "filter(draft=False)", "filter(draft=1 / 0)"],
        {
            "storage": ("NotADirectoryError", "Let this user write there, or set"),
            "cache": ("refused", "Start the cache, and compare CACHES."),
            "section posts": (
                "ZeroDivisionError",
                "run manage.py build_sitemaps posts",
            ),
            "index": ("answers 503", "Mend what is above"),
            "workers": ("refused", "Start the broker, and compare CELERY_BROKER_URL."),
        },
    ),
    "host and engine": (
        ENGINE.replace("DEBUG = True", ""),
        [],
        {
            "settings: sitemaps_plus.E025": ("'key' of IndexNow", "ENGINES"),
            "index": ("https://blog.dev/sitemap.xml answers 400", "ALLOWED_HOSTS"),
            "robots.txt": ("does not name the index", ""),
        },
    ),
    "no include": (
        "",
        ["mysite/urls.py", f"    {INCLUDE},\n", ""],
        {
            "index": ("The URLconf does not lead to the sitemaps", INCLUDE),
            "robots.txt": ("", ""),
        },
    ),
    "catch-all and origin": (
        'SITEMAPS_PLUS["BASE_URL"] = "http://localhost"; ALLOWED_HOSTS = ["*"]',
        [
            *("mysite/urls.py", "urlpatterns = ["),
            'urlpatterns = [\n    path("<path:slug>", post),',
        ],
        {
            "settings: sitemaps_plus.E031": ("leads to blog.views.post", INCLUDE),
            "origin": ("cannot reach http://localhost", "SITEMAPS_PLUS['BASE_URL']"),
            "index": ("from another view", INCLUDE),
            "robots.txt": ("", ""),
        },
    ),
    "database": (
        'DATABASES["default"]["NAME"] = BASE_DIR / "missing" / "db.sqlite3"',
        [],
        {
            "database": (
                "unable to open",
                "Start the database, and compare DATABASES.",
            ),
            **dict.fromkeys(
                ("migrations", "files", "sections", "index", "builds", "engines"),
                ("", ""),
            ),
        },
    ),
    "not migrated": (
        'DATABASES["default"]["NAME"] = BASE_DIR / "new.sqlite3"',
        [],
        {
            "migrations": ("not applied: 0001_initial", "Run manage.py migrate."),
            **dict.fromkeys(
                ("files", "sections", "index", "builds", "engines"), ("", "")
            ),
        },
    ),
}


class TestDoctor:
    @pytest.mark.parametrize("name", SITUATIONS)
    def test_a_mistake_in_production_is_a_cross_with_its_remedy(self, project, name):
        """Nothing else is, and no traceback is shown."""
        added, change, crosses = SITUATIONS[name]
        project.rows(2)
        project.settings(PRODUCTION + added)
        if change:
            project.replace(*change)
        done = project.manage("sitemap_doctor", "--json")
        found = [it for it in json.loads(done.stdout) if it["ok"] is False]
        assert [it["name"] for it in found] == list(crosses)
        for cross in found:
            text, remedy = crosses[cross["name"]]
            assert text in cross["text"]
            assert cross["remedy"]
            assert remedy in cross["remedy"]
        assert done.returncode == 1
        said = f" fault{pluralize(len(crosses))}: {next(iter(crosses))}"
        assert said in done.stderr
        assert "Traceback" not in done.stderr

    def test_a_new_project_has_no_cross(self, project):
        """It has a database as startproject makes it, and no public host."""
        project.rows(2)
        done = project.manage("sitemap_doctor")
        assert (done.returncode, done.stderr) == (0, "")
        assert "✓ index: https://blog.example/sitemap.xml answers 200" in done.stdout
        assert "- origin: search engines cannot reach" in done.stdout


def test_explain_names_what_leaves_a_post_out_and_near_misses(project):
    project.rows(3)
    project.execute("UPDATE blog_post SET draft = 1 WHERE slug = 'post-1'")
    post = "https://blog.example/blog/post-"
    done = project.manage("explain_url", f"{post}1/")
    assert "Left out: draft is Yes; it must be No." in done.stdout
    assert done.stderr == f"CommandError: {post}1/ is not listed.\n"
    assert done.returncode == 1
    done = project.manage("explain_url", f"{post}2")
    assert done.stdout.startswith(f"Listed instead: {post}2/ is on page 1 of section")
    assert done.returncode == 1


VIEWS = """
from django.contrib.auth.decorators import login_required
from django.http import HttpResponse

BODIES = {
    "post-2": '<meta name="robots" content="noindex">',
    "post-3": '<link rel="canonical" href="http://blog.example/blog/post-3/">',
}


def post(request, slug):
    if slug == "post-0":
        return login_required(post)(request, slug)
    if slug == "post-1":
        return slug.title[0]
    return HttpResponse(BODIES.get(slug, slug))
"""

TWICE = """
@register("again")
class AgainSource(PostSource):
    def get_queryset(self):
        return super().get_queryset().filter(slug="post-5")
"""

#: Of each rule the post whose page breaks it, and words of the line that names it.
FOUND = {
    "page-redirect": (0, "redirects to /accounts/login/?next=/blog/post-0/"),
    "page-error": (1, "TypeError: "),
    "page-noindex": (2, "'noindex'"),
    "page-canonical": (3, "http://blog.example/blog/post-3/: list that"),
    "page-blocked": (4, "robots.txt forbids"),
    "loc-duplicate": (5, "/sitemap-posts-1.xml"),
}


def test_the_audit_finds_mistakes_of_pages(project):
    """With value and reason, each of one page; a page without one is not named."""
    project.rows(7)
    project.write("blog/views.py", VIEWS)
    text = (project.directory / "blog/sitemaps.py").read_text()
    project.write("blog/sitemaps.py", f"{text}\n{TWICE}")
    project.settings(
        'SITEMAPS_PLUS["ROBOTS"] = {"RULES": {"DISALLOW": "/blog/post-4"}}'
    )
    done = project.manage("check_sitemaps", "--audit")
    lines = [line for line in done.stdout.splitlines() if " error " in line]
    for rule, (number, words) in FOUND.items():
        [line] = [line for line in lines if f"error {rule}" in line]
        assert f"https://blog.example/blog/post-{number}/" in line
        assert words in line
    assert len(lines) == len(FOUND)
    assert done.returncode == 1
    assert done.stderr == f"CommandError: {len(FOUND)} errors found.\n"


def test_what_is_built_is_fine_until_somebody_edits_it(project):
    """A line, and the remedy; a path that is wrong fails too."""
    project.rows(2)
    assert project.manage("build_sitemaps").returncode == 0
    done = project.manage("check_sitemaps", "media/sitemaps/public", "--audit")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "4 files, 4 entries: 0 errors, 0 warnings\n"
    path = project.directory / "media/sitemaps/public/sitemap-posts-1.xml.gz"
    text = gzip.decompress(path.read_bytes()).replace(b"blog/post-1", b"?a=1&b=\xfc")
    path.unlink()
    path.write_bytes(gzip.compress(text))
    done = project.manage("check_sitemaps", str(path), "media/sitemap.xml")
    assert f"{path}:5: error utf-8: byte 0xfc is not UTF-8" in done.stdout
    assert "media/sitemap.xml: error unreachable: No such file" in done.stdout
    assert done.returncode == 1


RIGHT = '    location = Route("post", slug="slug")\n'
TYPO = '    def location(self, post):\n        return f"/blog/{post.slugg}/"\n'


def entries(project: Any) -> int:
    return project.get("/sitemap-posts-1.xml")[1].count("<url>")


class TestShrinking:
    def test_a_section_is_held_until_its_rows_can_be_listed(self, project):
        """Of a first build as of a later one; the build says why, and names a row."""
        project.rows(99)
        project.replace("blog/sitemaps.py", RIGHT, TYPO)
        for command in ("build_sitemaps", "sitemap_status"):
            done = project.manage(command)
            assert (done.returncode, "lists none of its" in done.stderr) == (1, True)
        project.replace("blog/sitemaps.py", TYPO, RIGHT)
        assert project.manage("build_sitemaps").returncode == 0
        another = TYPO.replace("slugg", "title_of")
        project.replace("blog/sitemaps.py", RIGHT, another)
        built, status = [
            project.manage(command) for command in ("build_sitemaps", "sitemap_status")
        ]
        assert "Post 1 left out: AttributeError: 'Post' object has no" in built.stderr
        for done in (built, status):
            assert done.returncode == 1
            assert "99 of 99 rows cannot be listed" in done.stderr
            assert "build_sitemaps posts --allow-shrink" in done.stderr
        assert entries(project) == 99

    def test_the_last_rows_of_a_small_section_go_when_that_is_allowed(self, project):
        """Some of them go unasked."""
        project.rows(3)
        assert project.manage("build_sitemaps").returncode == 0
        project.execute("DELETE FROM blog_post WHERE slug <> 'post-1'")
        assert project.manage("build_sitemaps", "--full").returncode == 0
        assert entries(project) == 1
        project.execute("DELETE FROM blog_post")
        done = project.manage("build_sitemaps", "--full")
        assert "it would fall from 3 entries to 0" in done.stderr
        assert project.manage("build_sitemaps", "--allow-shrink").returncode == 0
        assert project.manage("sitemap_status").returncode == 0
        assert entries(project) == 0
