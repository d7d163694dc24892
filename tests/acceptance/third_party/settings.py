"""Settings of a project that is a site of Wagtail and a shop of Oscar."""

from __future__ import annotations

import os
from unittest.mock import MagicMock

import oscar
from oscar.defaults import *  # noqa: F403

from tests.support.databases import database_settings

SECRET_KEY = "guards nothing"
ALLOWED_HOSTS = ["site.example"]
BASE_URL = "https://site.example"
SITEMAPS_PLUS = {"BASE_URL": BASE_URL}
SITE_ID = 1
USE_TZ = True
LANGUAGE_CODE = "en"
STATIC_URL = "/static/"
MEDIA_ROOT = os.environ["THIRD_PARTY_FILES"]
ROOT_URLCONF = f"{__package__}.urls"
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
DATABASES = {"default": database_settings()}
# Oscar keeps URLs of categories in the cache for minutes, whatever is edited.
CACHES = {"default": {"BACKEND": "django.core.cache.backends.dummy.DummyCache"}}
_SEARCH = {"ENGINE": "haystack.backends.simple_backend.SimpleEngine"}
HAYSTACK_CONNECTIONS = {"default": _SEARCH}
OSCAR_DELETE_IMAGE_FILES = False
INSTALLED_APPS = [
    *oscar.INSTALLED_APPS,
    *[f"wagtail.{it}" for it in ("sites", "users", "documents", "images", "search")],
    *["wagtail.admin", "wagtail", "modelcluster", "taggit"],
    "django_sitemaps_plus.apps.SimpleSitemapsPlusConfig",
    __package__,
]
# Tables are made as they are now, which takes a tenth of the time.
MIGRATION_MODULES = MagicMock()
MIGRATION_MODULES.__contains__.return_value = True
MIGRATION_MODULES.__getitem__.return_value = None
