"""Settings of a project in three languages, one of which has a country."""

from __future__ import annotations

import os
from unittest.mock import MagicMock

from tests.support.databases import database_settings

SECRET_KEY = "guards nothing"
ALLOWED_HOSTS = ["site.example"]
SITEMAPS_PLUS = {"BASE_URL": "https://site.example", "TRACK": True}
USE_TZ = True
LANGUAGE_CODE = "en"
LANGUAGES = [("en", "English"), ("de", "German"), ("pt-br", "Portuguese")]
WAGTAIL_CONTENT_LANGUAGES = LANGUAGES
WAGTAIL_I18N_ENABLED = True
WAGTAILADMIN_BASE_URL = "https://site.example"
MODELTRANSLATION_FALLBACK_LANGUAGES = ("en",)
PARLER_LANGUAGES = {None: [{"code": code} for code, _ in LANGUAGES]}
STATIC_URL = "/static/"
MEDIA_ROOT = os.environ["THIRD_PARTY_FILES"]
ROOT_URLCONF = f"{__package__}.urls"
MIDDLEWARE = ["django.middleware.locale.LocaleMiddleware"]
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
DATABASES = {"default": database_settings()}
INSTALLED_APPS = [
    "modeltranslation",
    "parler",
    *[f"django.contrib.{it}" for it in ("auth", "contenttypes", "sessions")],
    *[f"wagtail.{it}" for it in ("sites", "users", "documents", "images", "search")],
    *["wagtail.admin", "wagtail", "modelcluster", "taggit", "treebeard"],
    "django_sitemaps_plus",
    __package__,
]
# Tables are made as they are now, which takes a tenth of the time.
MIGRATION_MODULES = MagicMock()
MIGRATION_MODULES.__contains__.return_value = True
MIGRATION_MODULES.__getitem__.return_value = None
