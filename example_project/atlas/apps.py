"""Configuration of the atlas app."""

from __future__ import annotations

from django.apps import AppConfig


class AtlasConfig(AppConfig):
    """The atlas app."""

    name = "example_project.atlas"
    default_auto_field = "django.db.models.BigAutoField"
