"""A project in production that only serves live: no files, no cache that is shared."""

from __future__ import annotations

import pytest

PRODUCTION = """
DEBUG = False
ALLOWED_HOSTS = ["localhost"]
SITEMAPS_PLUS = {"BASE_URL": "https://blog.example"}
"""

EXECUTOR = """
SITEMAPS_PLUS["EXECUTOR"] = "mysite.executor.Own"
"""

OWN = """
from django_sitemaps_plus.executors.base import Executor


class Own(Executor):
    pass
"""


@pytest.fixture
def live(project):
    """Give a project in production."""
    project.settings(PRODUCTION)
    project.rows(2)
    return project


def test_no_place_for_files_stops_builds_only(live):
    """Every other command works; a check warns of it."""
    live.settings('MEDIA_ROOT = ""')
    checked = live.manage("check")
    assert (checked.returncode, "W004" in checked.stderr) == (0, True)
    assert "Set MEDIA_ROOT, or SITEMAPS_PLUS['STORAGE']" in checked.stderr
    assert live.manage("migrate").returncode == 0
    assert live.manage("test").returncode == 0
    assert live.get("/sitemap-posts-1.xml")[0] == 200
    built = live.manage("build_sitemaps")
    assert built.returncode == 1
    assert "cannot be built. Set MEDIA_ROOT, or" in built.stderr
    assert "Traceback" not in built.stderr


def test_a_cache_of_one_process_is_named_once_it_matters(live):
    """With workers; not before, nor in tests."""
    assert "W002" not in live.manage("check").stderr
    live.write("mysite/executor.py", OWN)
    live.settings(EXECUTOR)
    assert live.manage("check").stderr.count("W002") == 1
    assert "W002" not in live.manage("test").stderr
