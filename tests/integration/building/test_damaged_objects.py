"""Objects that a view, or the audit, finds damaged are stored again."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db.models.functions import Now

from django_sitemaps_plus.building.build import build
from django_sitemaps_plus.models import Page
from tests.support.published import page_row, path_of

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.mark.parametrize("damage", ["gone", "changed"])
def test_one_that_a_view_missed_is_stored_again(products, client, damage):
    """By the next build, though nothing has changed."""
    before = client.get("/sitemap-products-2.xml")
    path = path_of(page_row("products", 2))
    if damage == "gone":
        path.unlink()
    else:
        path.write_bytes(b"x" * path.stat().st_size)
    live = client.get("/sitemap-products-2.xml")
    assert live.content == before.content
    assert "Last-Modified" not in live
    assert build().sections[0].stored == 1
    assert path_of(page_row("products", 2)).exists()
    assert client.get("/sitemap-products-2.xml")["ETag"] == before["ETag"]


def test_one_that_came_back_is_left_alone(products, client):
    """A view may have looked while a disk was away."""
    path = path_of(page_row("products", 2))
    away = path.rename(path.with_suffix(".away"))
    client.get("/sitemap-products-2.xml")
    away.rename(path)
    assert build().sections[0].stored == 0


def test_the_audit_finds_an_index_that_is_gone(products):
    """As it does pages, though no view has told this process of it."""
    build()
    index = page_row("", 0)
    path_of(index).unlink()
    build()
    assert not path_of(page_row("", 0)).exists()
    Page.objects.filter(pk=index.pk).update(checked_at=Now() - timedelta(days=2))
    build()
    assert path_of(page_row("", 0)).exists()
