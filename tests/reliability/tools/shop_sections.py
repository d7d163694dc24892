"""The sections of the shop, for workers to import: with small pages, of products."""

from __future__ import annotations

from django_sitemaps_plus.registry import registry

from .shop import PlainSource

registry.register("products", PlainSource)
