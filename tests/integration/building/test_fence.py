"""The flip: one UPDATE that asks for the claim's token and for the version."""

from __future__ import annotations

import pytest
from django.db.models import F

from django_sitemaps_plus.building.flip import flip
from django_sitemaps_plus.building.store import build_page
from django_sitemaps_plus.conf import get_site
from django_sitemaps_plus.models import Page, Section
from tests.support.builds import build_fully
from tests.support.published import page_row, served
from tests.support.shop import limited, make_products

from .overtaking import marks, rename

pytestmark = [pytest.mark.database, pytest.mark.django_db]


@pytest.fixture
def results(sections):
    """Give pages that are claimed and built, and not yet flipped."""
    make_products(25)
    sections.register("products", limited(10))
    build_fully()
    rename("a")
    section = Section.objects.get(name="products")
    section.pages.update(wanted=F("wanted") + 1)
    pages = Page.objects.claim([section.pk])
    assert [page.number for page in pages] == [1, 2, 3]
    return [(page, build_page(page, get_site())) for page in pages]


def test_a_claim_that_holds_is_flipped_once(results, client):
    """The second time its token is spent."""
    assert flip(results) == results
    assert marks(client) == ["a", "a", "a"]
    before = served()
    assert flip(results) == []
    assert served() == before


@pytest.mark.parametrize(
    "change", [{"token": "of another builder"}, {"built": F("wanted")}], ids=str
)
def test_another_token_or_a_built_version_is_refused(results, change):
    Page.objects.filter(number=2).update(**change)
    before = page_row("products", 2)
    assert [page.number for page, _ in flip(results)] == [1, 3]
    after = page_row("products", 2)
    assert (after.object, after.built) == (before.object, before.built)
    assert after.token == before.token


def test_it_never_marks_more_as_built_than_it_read(results):
    """A change after the claim keeps the page dirty."""
    Page.objects.filter(number=2).update(wanted=F("wanted") + 1)
    flip(results)
    assert [page.number for page in Page.objects.dirty().exclude(number=0)] == [2]


def test_for_what_is_refused_no_index_is_rendered(results):
    Page.objects.update(token="of another builder")
    wanted = page_row("", 0).wanted
    assert flip(results) == []
    assert page_row("", 0).wanted == wanted
