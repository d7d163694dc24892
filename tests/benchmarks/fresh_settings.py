"""The example project with one of the ways to build in the background."""

from __future__ import annotations

import os

from tests.acceptance.settings import *  # noqa: F403

SITEMAPS_PLUS = {**SITEMAPS_PLUS, "LEASE_SECONDS": 60}  # noqa: F405
if os.environ["BENCHMARK_WAY"] == "tasks":
    INSTALLED_APPS = [*INSTALLED_APPS, "django_tasks_db"]  # noqa: F405
    TASKS = {"default": {"BACKEND": "django_tasks_db.DatabaseBackend"}}
    SITEMAPS_PLUS["EXECUTOR"] = "django_sitemaps_plus.executors.tasks.TasksExecutor"
