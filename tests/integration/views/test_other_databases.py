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
client = Client(raise_request_exception=False)
print(*[client.get(path).status_code for path in sys.argv[1:]])
"""


def test_one_that_is_down_breaks_no_sitemap() -> None:
    """Whatever ATOMIC_REQUESTS says of it. (There are no sections here.)"""
    paths = ["/robots.txt", "/only-for-tests.txt", "/sitemap.xml"]
    command = [sys.executable, "-c", PROJECT, *paths]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.stdout == "200 200 404\n", done.stderr
