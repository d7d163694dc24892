"""The same section as django-icv-sitemaps has it, at its best.

Only the columns that it needs are loaded, and it writes the elements that we write and
no others. It always compresses by zlib; what it would be with isal is measured too.
"""

from __future__ import annotations

import gzip
import shutil
from pathlib import Path
from typing import Any
from unittest.mock import patch

from django.core.files.storage import storages
from django.db.models import QuerySet
from django.urls import reverse
from icv_sitemaps.mixins import SitemapMixin
from icv_sitemaps.models import SitemapSection
from icv_sitemaps.services import create_section, generation, mark_section_stale
from icv_sitemaps.tasks import regenerate_stale_sitemaps
from isal import igzip

from tests.support.testapp.models import Product

_SECTION = "products"


class IcvProduct(SitemapMixin, Product):
    """A product that icv can list."""

    class Meta:
        proxy = True
        app_label = "testapp"

    @classmethod
    def get_sitemap_queryset(cls) -> QuerySet[Any]:
        """Return the products; icv orders them by their keys."""
        return cls._default_manager.only("slug", "updated_at")

    def get_sitemap_changefreq(self) -> str:
        """Leave this element out."""
        return ""

    def get_sitemap_priority(self) -> None:
        """Leave this one out too."""


class IcvPlace(IcvProduct):
    """A product under the name of a place in one of five languages."""

    class Meta:
        proxy = True
        app_label = "testapp"

    @classmethod
    def get_sitemap_queryset(cls) -> QuerySet[Any]:
        """Return the products with what is needed."""
        return cls._default_manager.only("name", "updated_at")

    def get_absolute_url(self) -> str:
        """Return the path of the name."""
        return reverse("named", kwargs={"name": self.name})


def directory() -> Path:
    """Return where its files are."""
    return Path(storages["icv"].path(""))


def begin(limit: int, model: type[IcvProduct] = IcvProduct) -> None:
    """Forget what was built, and define a section of so many entries a file."""
    SitemapSection.objects.all().delete()
    shutil.rmtree(directory(), ignore_errors=True)
    create_section(_SECTION, model_class=model, max_urls_per_file=limit)


def build_icv(entries: int, *, is_fast: bool = True) -> None:
    """Bring its files up to date, as its periodic task does."""
    with patch.object(generation, "gzip", igzip if is_fast else gzip):
        built = regenerate_stale_sitemaps()
    if built != {_SECTION: entries}:
        raise RuntimeError(f"icv has built {built}, not {entries:,} entries")


def note_save() -> None:
    """Do what its receiver of ``post_save`` does."""
    mark_section_stale(_SECTION)
