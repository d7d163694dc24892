"""``sitemap_doctor`` in projects with a mistake: the cross, and how to mend it."""

from __future__ import annotations

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

CELERY = """
from celery import Celery
Celery("mysite", broker="redis://127.0.0.1:1/0").set_default()
SITEMAPS_PLUS["EXECUTOR"] = "django_sitemaps_plus.tasks.CeleryExecutor"
"""

REDIS = """
CACHES = {"default": {
    "BACKEND": "django.core.cache.backends.redis.RedisCache",
    "LOCATION": "redis://127.0.0.1:1/0",
}}
"""

CATCH_ALL = 'urlpatterns = [\n    path("<path:slug>", post),'

ENGINE = """
DEBUG = True
SITEMAPS_PLUS["ENGINES"] = {"indexnow": {
    "BACKEND": "django_sitemaps_plus.notifications.IndexNow",
    "OPTIONS": {"key": None},
}}
"""

#: Of each mistake what is appended to the settings or replaced in a file, the names of
#: all crosses, and words of the first one and of its remedy.
MISTAKES: dict[str, tuple[Any, list[str], str, str]] = {
    "host": (
        "ALLOWED_HOSTS = []",
        ["index", "robots.txt"],
        "https://blog.dev/sitemap.xml answers 400",
        "Add 'blog.dev' to ALLOWED_HOSTS.",
    ),
    "no include": (
        ("mysite/urls.py", '    path("", include("django_sitemaps_plus.urls")),\n', ""),
        ["index", "robots.txt"],
        "'sitemaps_plus' is not a registered namespace",
        'Put path("", include("django_sitemaps_plus.urls"))',
    ),
    "catch-all": (
        ("mysite/urls.py", "urlpatterns = [", CATCH_ALL),
        ["settings: sitemaps_plus.E031", "index", "robots.txt"],
        "/sitemap.xml leads to blog.views.post, not to the sitemaps",
        'Put path("", include("django_sitemaps_plus.urls")) before',
    ),
    "storage": (
        'MEDIA_ROOT = BASE_DIR / "manage.py"',
        ["storage"],
        "could not be stored: NotADirectoryError",
        "Let this user write there, or set MEDIA_ROOT.",
    ),
    "broker": (
        CELERY,
        ["workers"],
        "refused",
        "Start the broker, and compare CELERY_BROKER_URL.",
    ),
    "engine": (
        ENGINE,
        ["settings: sitemaps_plus.E025"],
        "The option 'key' of IndexNow must be",
        "Correct it in SITEMAPS_PLUS['ENGINES'].",
    ),
    "cache": (REDIS, ["cache"], "refused", "Start the cache, and compare CACHES."),
    "database": (
        'DATABASES["default"]["NAME"] = BASE_DIR / "missing" / "db.sqlite3"',
        ["database", "migrations", "sections", "index", "builds", "engines"],
        "unable to open database file",
        "Start the database, and compare DATABASES.",
    ),
    "not migrated": (
        'DATABASES["default"]["NAME"] = BASE_DIR / "new.sqlite3"',
        ["migrations", "sections", "index", "builds", "engines"],
        "not applied: 0001_initial",
        "Run manage.py migrate.",
    ),
    "source": (
        ("blog/sitemaps.py", "filter(draft=False)", "filter(draft=1 / 0)"),
        ["section posts", "index"],
        "ZeroDivisionError: division by zero",
        "Correct it, then run manage.py build_sitemaps posts.",
    ),
    "origin": (
        'SITEMAPS_PLUS["BASE_URL"] = "http://localhost"; ALLOWED_HOSTS = ["*"]',
        ["origin"],
        "search engines cannot reach http://localhost",
        "Set SITEMAPS_PLUS['BASE_URL']",
    ),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_in_production_is_a_cross_with_its_remedy(project, name):
    """Nothing else is, and no traceback is shown."""
    project.rows(2)
    project.settings(PRODUCTION)
    change, crosses, words, remedy = MISTAKES[name]
    if isinstance(change, str):
        project.settings(change)
    else:
        project.replace(*change)
    done = project.manage("sitemap_doctor", "--json")
    found = [it for it in json.loads(done.stdout) if it["ok"] is False]
    assert [it["name"] for it in found] == crosses
    assert words in found[0]["text"]
    assert remedy in found[0]["remedy"]
    assert all(it["remedy"] for it in found)
    assert done.returncode == 1
    assert f" fault{pluralize(len(crosses))}: {crosses[0]}" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_new_project_has_no_cross(project):
    """It has a database as startproject makes it, and a host that is not public."""
    project.rows(2)
    done = project.manage("sitemap_doctor")
    assert (done.returncode, done.stderr) == (0, "")
    assert "✓ index: https://blog.example/sitemap.xml answers 200" in done.stdout
    assert "- origin: search engines cannot reach https://blog.example" in done.stdout
