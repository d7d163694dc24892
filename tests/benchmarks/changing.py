"""Edits of the benchmark, and who is told of them."""

from __future__ import annotations

from contextlib import AbstractContextManager
from datetime import timedelta
from itertools import count
from typing import Any

from django.db.models import F, Value
from django.db.models.functions import Cast, Concat
from django.utils import timezone

from django_sitemaps_plus.models import Page, Section
from django_sitemaps_plus.signals import urls_changed
from tests.support.builds import build_and_relay
from tests.support.testapp.models import Product
from tests.support.told import hearing

# One second each, so that every edit shows in the lastmod.
_moments = map(timedelta(seconds=1).__mul__, count())
_turns = count()
_start = timezone.now() - timedelta(days=1)


def edit(key: int) -> None:
    """Change the lastmod of one product, as a save by a user does."""
    product = Product.objects.get(pk=key)
    product.updated_at = _start + next(_moments)
    product.save()


def edit_each_page(size: int, n_pages: int) -> None:
    """Change the URL of the first product in each page, and mark all pages."""
    turn = Value(f"turn-{next(_turns)}-")
    firsts = Product.objects.alias(place=F("pk") % size).filter(place=1)
    firsts.filter(pk__lte=size * n_pages).update(
        slug=Concat(turn, Cast("pk", Product._meta.get_field("slug")))
    )
    section = Section.objects.get(name="products", site="default")
    pages = Page.objects.filter(section=section)
    pages.update_locked([section.pk], wanted=F("wanted") + 1)


def listening() -> AbstractContextManager[list[dict[str, Any]]]:
    """Listen to which URLs have changed, so that each refresh works out its diff."""
    return hearing(urls_changed)


def refresh_one(heard: list[dict[str, Any]]) -> None:
    """Refresh after one edit, as a worker does."""
    heard.clear()
    (section,) = build_and_relay(waits=False).sections
    names = ("added", "updated", "removed")
    n_urls = sum([len(told[name]) for told in heard for name in names])
    if (section.stored, n_urls) != (1, 1):
        raise RuntimeError(f"{section.stored} pages and {n_urls} URLs, not one")
