"""Two origins on one database: staging on production's data, or a second SITE_ID."""

from __future__ import annotations

import pytest

BASE_URL = """
import os
SITEMAPS_PLUS = {
    "BASE_URL": os.environ["ORIGIN"],
    "NOTIFY": True,
    "ENGINES": {
        "indexnow": {
            "BACKEND": "django_sitemaps_plus.notifications.engines.indexnow.IndexNow",
            "OPTIONS": {"key": "0" * 32, "endpoint": "http://127.0.0.1:9/"},
        }
    },
}
"""

SITES = """
import os
INSTALLED_APPS.append("django.contrib.sites")
SITE_ID = int(os.environ["SITE"])
SITEMAPS_PLUS = {}
"""

PAGE = "/sitemap-posts-1.xml"


@pytest.fixture
def two(project):
    """Give a project whose origin is that of the environment, with two posts."""
    project.settings(BASE_URL)
    project.rows(2)
    return project


def is_refused(text):
    """Return whether a text names both origins and what to do."""
    words = (
        "belong to https://blog.example; this process has https://zwei.example",
        " or SITE_ID, or give it a database of its own",
        "--move-origin",
    )
    return all(word in text for word in words)


def test_a_process_with_another_origin_publishes_serves_prunes_and_submits_nothing(two):
    """It served its own sitemaps until another process had built some."""
    blog = {"ORIGIN": "https://blog.example"}
    other = {"ORIGIN": "https://zwei.example"}
    status, text, _ = two.get(PAGE, **other)
    assert (status, "https://zwei.example/blog/post-1/" in text) == (200, True)
    assert two.manage("build_sitemaps", **blog).returncode == 0
    queued = two.execute("SELECT count(*) FROM sitemaps_plus_delivery")
    for command in (
        ["build_sitemaps"],
        ["sitemap_status"],
        ["prune_sitemaps"],
        ["notify_search_engines", "--all"],
    ):
        done = two.manage(*command, **other)
        assert (done.returncode, is_refused(done.stderr)) == (1, True), command
        assert "Traceback" not in done.stderr
    assert two.execute("SELECT count(*) FROM sitemaps_plus_delivery") == queued
    for path in ("/sitemap.xml", PAGE):
        status, _, logged = two.get(path, **other)
        assert (status, is_refused(logged)) == (503, True)
        assert logged.count("belong to") == 1
        assert "Traceback" not in logged
    status, text, _ = two.get(PAGE, **blog)
    assert (status, "zwei" in text) == (200, False)


def test_a_site_that_has_moved_says_so_once(two):
    """Then all is of the new origin, and a process with the old one is refused."""
    blog = {"ORIGIN": "https://blog.example"}
    other = {"ORIGIN": "https://zwei.example"}
    assert two.manage("build_sitemaps", **blog).returncode == 0
    moved = two.manage("build_sitemaps", "--move-origin", **other)
    assert (moved.returncode, moved.stderr) == (0, "")
    for path in ("/sitemap.xml", PAGE):
        status, text, _ = two.get(path, **other)
        assert (status, "blog.example" in text) == (200, False)
        assert "https://zwei.example/" in text
    assert two.manage("build_sitemaps", **other).returncode == 0
    assert two.manage("build_sitemaps", **blog).returncode == 1


def test_two_processes_with_a_site_id_of_their_own(project):
    """The second is refused, as with two BASE_URLs."""
    project.settings(SITES)
    project.rows(2)
    assert project.manage("migrate", SITE="1").returncode == 0
    project.execute("UPDATE django_site SET domain = 'blog.example'")
    project.execute("INSERT INTO django_site (domain, name) VALUES ('zwei.example','')")
    assert project.manage("build_sitemaps", SITE="1").returncode == 0
    done = project.manage("build_sitemaps", SITE="2")
    assert (done.returncode, is_refused(done.stderr)) == (1, True)
