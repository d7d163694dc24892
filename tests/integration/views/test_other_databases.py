"""Tests of views beside databases of the project that are down."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytestmark = pytest.mark.database

#: Every request of this project begins a transaction on a database that is away.
PROJECT = """
import sys
import django
from django.conf import settings
away = {"ENGINE": "django.db.backends.sqlite3", "NAME": "/nowhere/away.sqlite3",
    "ATOMIC_REQUESTS": True}
own = {"ENGINE": "django.db.backends.sqlite3", "NAME": ":memory:"}
settings.configure(
    ALLOWED_HOSTS=["*"], USE_TZ=True, ROOT_URLCONF="django_sitemaps_plus.urls",
    DATABASES={"default": own, "away": away}, INSTALLED_APPS=["django_sitemaps_plus"],
    SITEMAPS_PLUS={
        "BASE_URL": "https://example.com",
        "ROBOTS": {},
        "ENGINES": {"indexnow": {
            "BACKEND": "django_sitemaps_plus.notifications.IndexNow",
            "OPTIONS": {"key": "only-for-tests"}}},
    },
)
django.setup()
from django.core.management import call_command
from django.test import Client
call_command("migrate", verbosity=0)
print(Client(raise_request_exception=False).get(sys.argv[1]).status_code)
"""


@pytest.mark.parametrize(
    ("path", "status"),
    [("/robots.txt", 200), ("/only-for-tests.txt", 200), ("/sitemap.xml", 404)],
)
def test_one_that_is_down_breaks_no_sitemap(path: str, status: int) -> None:
    """Whatever ATOMIC_REQUESTS says of it. (There are no sections here.)"""
    done = subprocess.run(
        [sys.executable, "-c", PROJECT, path],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.stdout == f"{status}\n", done.stderr
