"""The kinds of page."""

from __future__ import annotations

from typing import Any

from django.db import models
from wagtail.models import Page


class Article(Page):
    """A page with a text."""

    body = models.TextField(blank=True)


class Events(Page):
    """A page with a second URL, which only its code knows."""

    def get_sitemap_urls(self, request: Any = None) -> list[dict[str, Any]]:
        own: list[dict[str, Any]] = super().get_sitemap_urls(request)
        return [*own, own[0] | {"location": f"{own[0]['location']}past/"}]
