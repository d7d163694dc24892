"""A plan to come: nobody sees its pages until all of them are built."""

from __future__ import annotations

import pytest
from django.db.models import F

from django_sitemaps_plus.models import INDEX, Page, State
from tests.support.documents import read_index

pytestmark = pytest.mark.django_db


@pytest.fixture
def next_page(products) -> str:
    """Have a built page of a plan to come, and an index that is not built since."""
    page = Page.objects.filter(section__name="products", number=3)
    page.update(state=State.NEXT)
    Page.objects.filter(section__name=INDEX).update(wanted=F("wanted") + 1)
    return "/sitemap-products-3.xml"


def test_no_index_lists_its_pages(next_page, client):
    """Though they have objects already."""
    listed = list(read_index(client.get("/sitemap.xml").content))
    assert len(listed) == 2
    assert not any(url.endswith(next_page) for url in listed)


def test_its_pages_are_not_served(next_page, client):
    """As if there were none."""
    assert client.get(next_page).status_code in (404, 410)
