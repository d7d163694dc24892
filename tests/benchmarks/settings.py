"""Settings of the benchmark: the test project's, with contrib.sitemaps beside it."""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile

from tests.settings import *  # noqa: F403
from tests.settings import DATABASES, INSTALLED_APPS

INSTALLED_APPS = [*INSTALLED_APPS, "django.contrib.sitemaps"]
ROOT_URLCONF = "tests.benchmarks.urls"
MIDDLEWARE: list[str] = []  # each subject says which it needs
TIME_ZONE = "UTC"
MEDIA_ROOT = tempfile.mkdtemp(prefix="sitemaps-plus-benchmark-")
atexit.register(shutil.rmtree, MEDIA_ROOT, ignore_errors=True)
DATABASES["default"]["CONN_MAX_AGE"] = None

# Processes that the benchmark starts find its rows again.
if "BENCHMARK_DATABASE" in os.environ:
    DATABASES["default"]["NAME"] = os.environ["BENCHMARK_DATABASE"]
