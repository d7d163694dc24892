"""Models with columns, and with rows, of each language; pages of Wagtail's locales."""

from __future__ import annotations

from typing import Any

from django.db import models
from django.urls import reverse
from django.utils.translation import get_language
from parler.models import TranslatableModel, TranslatedFields
from wagtail.models import Page


class Product(models.Model):
    """Has its slug in each language, by django-modeltranslation."""

    slug = models.SlugField(null=True)  # noqa: DJ001

    def __str__(self) -> str:
        return str(self.slug)

    def get_absolute_url(self) -> str:
        return reverse("product", kwargs={"slug": self.slug})


class Article(TranslatableModel):  # type: ignore[misc]
    """Has its slugs in a table of their own, by django-parler."""

    translations: Any = TranslatedFields(slug=models.SlugField())

    def get_absolute_url(self) -> str:
        # An instance keeps the language in which it was read.
        slug = self.safe_translation_getter("slug", language_code=get_language())
        return reverse("article", kwargs={"slug": slug})


class TranslatedPage(Page):
    """Names its versions, each of which is a page."""

    def get_sitemap_urls(self, request: Any = None) -> list[dict[str, Any]]:
        versions = self.get_translations(inclusive=True).live().public()
        alternates = [
            {"lang_code": it.locale.language_code, "location": it.get_full_url(request)}
            for it in versions.select_related("locale")
        ]
        own: list[dict[str, Any]] = super().get_sitemap_urls(request)
        return [url | {"alternates": alternates} for url in own]
