"""Settings of the benchmark: the test project's, with the packages it is beside."""

from __future__ import annotations

import atexit
import json
import os
import shutil
import tempfile
from pathlib import Path

from tests.support.databases import sqlite_pragmas
from tests.support.settings import *  # noqa: F403
from tests.support.settings import DATABASES, INSTALLED_APPS, TEMPLATES

INSTALLED_APPS = [*INSTALLED_APPS, "django.contrib.sitemaps", "icv_sitemaps"]
ROOT_URLCONF = "tests.benchmarks.urls"
MIDDLEWARE: list[str] = []  # each subject says which it needs
if "BENCHMARK_PLAIN" in os.environ:  # a process whose start is measured
    from tests.support import settings as plain

    MIDDLEWARE, ROOT_URLCONF = plain.MIDDLEWARE, plain.ROOT_URLCONF
    INSTALLED_APPS.remove("icv_sitemaps")
TIME_ZONE = "UTC"
LANGUAGES = [
    ("en-us", "English"),
    ("de", "German"),
    ("fr", "French"),
    ("es", "Spanish"),
]
TEMPLATES[0]["DIRS"] = [Path(__file__).with_name("templates")]
if "BENCHMARK_FILES" not in os.environ:  # else this is a process that helps
    os.environ["BENCHMARK_FILES"] = tempfile.mkdtemp(prefix="sitemaps-plus-benchmark-")
    atexit.register(shutil.rmtree, os.environ["BENCHMARK_FILES"], ignore_errors=True)
_FILES = Path(os.environ["BENCHMARK_FILES"])
MEDIA_ROOT = str(_FILES / "media")
DATABASES["default"]["CONN_MAX_AGE"] = None
if DATABASES["default"]["ENGINE"].endswith(".sqlite3"):
    # As sites have it, and not as the tests.
    DATABASES["default"]["OPTIONS"]["init_command"] = sqlite_pragmas("NORMAL")

# Without overwriting, icv writes each file that it replaces twice.
_STORAGE = "django.core.files.storage.FileSystemStorage"
_ICV_OPTIONS = {"location": str(_FILES / "icv"), "allow_overwrite": True}
STORAGES = {
    "default": {"BACKEND": _STORAGE},
    "icv": {"BACKEND": _STORAGE, "OPTIONS": _ICV_OPTIONS},
}
ICV_STORAGES_ALIAS = "icv"
ICV_SITEMAPS_BASE_URL = "https://example.com"

# Processes that the benchmark starts find its rows again.
if "BENCHMARK_DATABASE" in os.environ:
    DATABASES["default"]["NAME"] = os.environ["BENCHMARK_DATABASE"]

# As do those that help to build, and its section.
if "BENCHMARK_SECTION" in os.environ:
    BENCHMARK_SECTION = json.loads(os.environ["BENCHMARK_SECTION"])
    INSTALLED_APPS += ["tests.benchmarks.helped"]
