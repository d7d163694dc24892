"""Settings of the test project; TEST_DB chooses the database."""

import os
import tempfile
from pathlib import Path

from .databases import database_settings

SCRATCH = Path(tempfile.gettempdir()) / f"sitemaps-plus-tests-{os.getpid()}"

SECRET_KEY = "only-for-tests"
ALLOWED_HOSTS = ["*"]
INSTALLED_APPS = [
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.messages",
    "django.contrib.sessions",
    "django_sitemaps_plus",
    "django_tasks_db",
    "tests.support.testapp",
]
MIDDLEWARE = [
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
]
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ]
        },
    }
]
ROOT_URLCONF = "tests.support.urls"
DATABASES = {"default": database_settings()}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]  # not slow
CACHES = {"default": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"}}
TASKS = {"default": {"BACKEND": "django_tasks_db.DatabaseBackend"}}
LANGUAGE_CODE = "en-us"
LANGUAGES = [("en", "English"), ("de", "German"), ("fr", "French")]
USE_TZ = True
TIME_ZONE = "Europe/Berlin"  # on purpose not UTC
MEDIA_ROOT = str(SCRATCH / "media")
MEDIA_URL = "/media/"
# LIVE_CACHE_SECONDS: most tests look at what an edit changes at once.
SITEMAPS_PLUS = {
    "BASE_URL": "https://example.com",
    "LIVE_CACHE_SECONDS": 0,
    "TRACK": True,  # which is off in test runs
}
