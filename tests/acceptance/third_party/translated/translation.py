"""What django-modeltranslation translates."""

from __future__ import annotations

from modeltranslation.translator import TranslationOptions, register

from .models import Product


@register(Product)
class ProductTranslation(TranslationOptions):  # type: ignore[misc]
    """Gives products a slug in each language."""

    fields = ("slug",)
