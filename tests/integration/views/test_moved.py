"""The URLs of contrib's view lead to the pages that have these rows now."""

from __future__ import annotations

import pytest
from django.contrib.sitemaps import Sitemap
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import include, path
from django.views.generic import RedirectView

from django_sitemaps_plus.models import Page
from tests.support.builds import build_fully
from tests.support.documents import locs
from tests.support.rendered import without_savepoints
from tests.support.shop import make_products, product_urls
from tests.support.testapp.models import Product

pytestmark = pytest.mark.database


class Products(Sitemap):
    limit = 4

    def items(self):
        return Product.objects.order_by("pk")


def moved(client, path: str) -> str:
    """Return where an old URL leads."""
    response = client.get(path)
    assert response.status_code == 301
    return str(response["Location"])


@pytest.mark.parametrize("is_built", [False, True])
def test_each_old_page_leads_to_its_rows(sections, client, is_built):
    """Live, and once it is built; the first one also without a number."""
    make_products(10)
    sections.register("products", Products)
    if is_built:
        build_fully()
    for number in (1, 2, 3):
        path = moved(client, f"/sitemap-products.xml?p={number}")
        first = (number - 1) * 4
        assert locs(client.get(path).content) == product_urls(
            range(first, min(first + 4, 10))
        )
    response = client.get("/sitemap-products.xml")
    assert response["Location"] == "/sitemap-products-1.xml"
    assert response["Cache-Control"] == "public, max-age=600"


def test_rows_are_counted_over_pages_that_split_and_merged(shop, client):
    """In the order of their keys, by one query."""
    shop(12, 2)
    pages = Page.objects.of("default", "products")
    pages.filter(number=1).update(number=9)
    pages.filter(number=3).update(entries=49_996)
    for old, new in {1: 9, 2: 4}.items():
        with CaptureQueriesContext(connection) as queries:
            path = moved(client, f"/sitemap-products.xml?p={old}")
        assert len(without_savepoints(queries)) == 1
        assert path == f"/sitemap-products-{new}.xml"
    assert client.get("/sitemap-products.xml?p=3").status_code == 404


def test_a_page_of_a_section_with_a_number_in_its_name(sections, client):
    """It looks like a page, but no section has the rest of the name."""
    make_products(1)
    sections.register("news-2024", Products)
    assert moved(client, "/sitemap-news-2024.xml") == "/sitemap-news-2024-1.xml"
    assert client.get("/sitemap-news-2025.xml").status_code == 404
    assert client.get("/sitemap-news-2024.xml.gz").status_code == 404


def test_the_index_takes_no_notice_of_a_page(sections, client):
    """Many projects had one sitemap at that URL."""
    make_products(1)
    sections.register("products", Products)
    first, second = client.get("/sitemap.xml"), client.get("/sitemap.xml?p=2")
    assert first["ETag"] == second["ETag"]
    assert first.content == second.content


def test_another_pattern_leads_there_by_the_redirect_of_the_guide(
    sections, client, settings
):
    """With the number of the page."""
    settings.ROOT_URLCONF = __name__
    make_products(5)
    sections.register("products", Products)
    response = client.get("/maps/products.xml?p=2", follow=True)
    assert response.redirect_chain == [
        ("/sitemap-products.xml?p=2", 301),
        ("/sitemap-products-2.xml", 301),
    ]
    assert locs(response.content) == product_urls([4])


urlpatterns = [
    path(
        "maps/<section>.xml",
        RedirectView.as_view(
            pattern_name="sitemaps_plus:moved", query_string=True, permanent=True
        ),
    ),
    path("", include("tests.support.urls")),
]
