"""Settings of the example project, each of which an environment variable can change."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import environ

BASE_DIR = Path(__file__).resolve().parent.parent
VAR_DIR = BASE_DIR / "var"
# SQLite creates its file, never the directory of it.
VAR_DIR.mkdir(exist_ok=True)

env = environ.Env()

DEBUG = env.bool("DEBUG", default=True)
# `check --deploy` warns of any key that starts like this one.
SECRET_KEY = env.str("SECRET_KEY", default="django-insecure-key-for-development-only")
ALLOWED_HOSTS = env.list("ALLOWED_HOSTS", default=["localhost", "127.0.0.1", "[::1]"])

INSTALLED_APPS = [
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.humanize",
    "django.contrib.messages",
    "django.contrib.sessions",
    "django.contrib.staticfiles",
    "example_project.atlas",  # first, since it has another base template for the next
    "django_sitemaps_plus",
]
MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.locale.LocaleMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
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
            ],
        },
    },
]
ROOT_URLCONF = "example_project.urls"
WSGI_APPLICATION = "example_project.wsgi.application"
ASGI_APPLICATION = "example_project.asgi.application"

DATABASES = {
    "default": env.db_url(
        "DATABASE_URL", default=f"sqlite:///{VAR_DIR / 'db.sqlite3'}"
    ),
}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
if DATABASES["default"]["ENGINE"] == "django.db.backends.sqlite3":
    # WAL lets readers go on beside a writer. IMMEDIATE makes a second writer wait
    # for the first, where a deferred transaction fails at once on its first write.
    DATABASES["default"].setdefault("OPTIONS", {}).update(
        timeout=20,
        transaction_mode="IMMEDIATE",
        init_command="PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;",
    )

CACHES = {"default": env.cache_url("CACHE_URL", default="locmemcache://")}
if CACHES["default"]["BACKEND"] == "django.core.cache.backends.redis.RedisCache":
    # A server that does not answer must not hang a request; by default it would.
    CACHES["default"]["OPTIONS"] = {
        "socket_connect_timeout": 0.25,
        "socket_timeout": 0.25,
        **CACHES["default"].get("OPTIONS", {}),
    }

LANGUAGE_CODE = "en"
# In the data, names have no language but a script that tells it.
LANGUAGES = [("en", "English"), ("el", "Greek"), ("he", "Hebrew"), ("ko", "Korean")]
TIME_ZONE = "UTC"
USE_TZ = True

STATIC_URL = "static/"
STATIC_ROOT = VAR_DIR / "static"
MEDIA_URL = "media/"
MEDIA_ROOT = VAR_DIR / "media"

SITEMAPS_PLUS: dict[str, Any] = {
    "BASE_URL": env.str("BASE_URL", default="http://localhost:8000"),
    "ROBOTS": {"RULES": {"DISALLOW": "/admin/"}},
    # No other version runs beside this one, so nothing is compared once more.
    "DEPLOY_SECONDS": 0,
}

# No engine is notified unless an endpoint is named: that of IndexNow, or the one that
# `make engine` plays on this machine.
INDEXNOW_ENDPOINT = env.str("INDEXNOW_ENDPOINT", default="")
if INDEXNOW_ENDPOINT:
    SITEMAPS_PLUS["ENGINES"] = {
        "indexnow": {
            "BACKEND": "django_sitemaps_plus.notifications.IndexNow",
            "OPTIONS": {
                "endpoint": INDEXNOW_ENDPOINT,
                "key": env.str("INDEXNOW_KEY", default=""),
            },
        },
    }
    # localhost is not public and DEBUG is on, so it must be forced.
    if urlsplit(INDEXNOW_ENDPOINT).hostname in ("localhost", "127.0.0.1", "::1"):
        SITEMAPS_PLUS["NOTIFY"] = True

# What follows is for worker and beat. Nothing imports Celery unless a broker is named.
BROKER_URL = env.str("CELERY_BROKER_URL", default=env.str("REDIS_URL", default=""))
if BROKER_URL:
    SITEMAPS_PLUS["EXECUTOR"] = "django_sitemaps_plus.tasks.CeleryExecutor"

CELERY_BROKER_URL = BROKER_URL or "redis://127.0.0.1:6379/0"
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_TIMEZONE = TIME_ZONE
# A task leaves what it found in the database.
CELERY_TASK_IGNORE_RESULT = True
# A worker takes one message at a time, so that others find work too.
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
# A save sends a message. With the broker gone it goes on after one attempt, and beat
# finds what was saved; by default it tries again, and hangs if there is no answer. One
# attempt is this policy: without any, Celery's own attempts take even longer.
CELERY_TASK_PUBLISH_RETRY_POLICY = {"max_retries": 0}
CELERY_BROKER_TRANSPORT_OPTIONS: dict[str, float] = {}
if CELERY_BROKER_URL.startswith("redis"):
    CELERY_BROKER_TRANSPORT_OPTIONS = {
        "socket_connect_timeout": 0.25,
        "socket_timeout": 0.25,
        # Seconds after which Redis gives the message of a task that has not ended to
        # another worker: longer than any task. Nothing waits for it after a kill, for
        # claims have leases of their own and beat sends new messages.
        "visibility_timeout": 3_600,
    }
CELERY_BEAT_SCHEDULE = {
    "refresh sitemaps": {
        "task": "django_sitemaps_plus.tasks.refresh",
        "schedule": 30,  # seconds
        # After an hour without workers there would be 120 of them to work off.
        "options": {"expires": 30},
    },
    "tell search engines": {
        "task": "django_sitemaps_plus.tasks.notify",
        "schedule": 30,
        "options": {"expires": 30},
    },
    "audit sitemaps": {
        "task": "django_sitemaps_plus.tasks.audit",
        "schedule": 10 * 60,
        "options": {"expires": 10 * 60},
    },
    "prune sitemaps": {
        "task": "django_sitemaps_plus.tasks.prune",
        "schedule": 24 * 60 * 60,
    },
}
