"""A page that kills whoever builds it is tried alone, and in the end once a day."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.db.models import F

from django_sitemaps_plus.building.build import build
from django_sitemaps_plus.building.flip import flip
from django_sitemaps_plus.building.store import Result, build_page
from django_sitemaps_plus.models import MAX_ATTEMPTS, Page, Section
from django_sitemaps_plus.section import open_section
from django_sitemaps_plus.tracking.deploys import note_deploy
from tests.support.builds import build_fully, pass_pauses
from tests.support.published import page_row
from tests.support.shop import limited, make_products

from .overtaking import end_leases

POISON = 4


@pytest.fixture
def dirty_pages(sections: Any) -> list[int]:
    """Have eight dirty pages; return their section."""
    make_products(8)
    sections.register("products", limited(1))
    build_fully()
    Page.objects.exclude(number=0).update(wanted=9)
    return [Section.objects.get(name="products").pk]


def builder(sections: list[int]) -> list[list[int]]:
    """Build until the page comes that ends it; return what was claimed, by number."""
    claims = []
    while pages := Page.objects.claim(sections):
        claims.append([page.number for page in pages])
        if POISON in claims[-1]:
            break
        built = [build_page(page, open_section(page.section)) for page in pages]
        flip(list(map(Result, pages, built)))
    end_leases()
    return claims


def test_only_the_page_that_kills_is_left_alone(dirty_pages):
    """Those claimed with it are then built one by one, and in the end before it."""
    assert builder(dirty_pages) == [[1, 2, 3, 4, 5, 6, 7, 8]]
    assert builder(dirty_pages) == [[1], [2], [3], [4]]
    assert builder(dirty_pages) == [[5], [6], [7], [8], [4]]
    for _ in range(2):  # days
        assert builder(dirty_pages) == []
        assert list(Page.objects.parked()) == [page_row("products", POISON)]
        page_row("products", POISON).section.pages.update(wanted=F("wanted") + 1)
        others = [1, 2, 3, 5, 6, 7, 8]
        assert builder(dirty_pages) == [others], "an edit may kill as well"
        Page.objects.update(not_before=F("not_before") - timedelta(hours=23))
        assert builder(dirty_pages) == []
        Page.objects.update(not_before=F("not_before") - timedelta(hours=1))
        assert builder(dirty_pages) == [[4]]
    assert page_row("products", POISON).deaths == 5


def test_a_page_that_lives_again_has_no_past(dirty_pages):
    """By a build, and by a builder that was only asked to end."""
    assert [builder(dirty_pages)[-1] for _ in range(3)][-1] == [4]
    section = Section.objects.get(pk=dirty_pages[0])
    note_deploy(section, "other")
    (page,) = [it for it in Page.objects.claim(dirty_pages) if it.number == POISON]
    Page.objects.release([page], is_free=True)
    page = page_row("products", POISON)
    assert (page.attempts, page.deaths, page.not_before) == (0, 0, None)


def test_failures_are_no_deaths(dirty_pages):
    """A page that fails often, and one of whose builders dies, waits for no day."""
    for _ in range(MAX_ATTEMPTS + 3):
        while pages := Page.objects.claim(dirty_pages):
            Page.objects.release(pages, "it failed", is_to_blame=True)
        end_leases()
        pass_pauses()
    assert {page.deaths for page in Page.objects.all()} == {0}
    (page,) = Page.objects.claim(dirty_pages)  # by one who dies
    end_leases()
    claimed = [page for _ in range(8) for page in Page.objects.claim(dirty_pages)]
    assert page.pk in [page.pk for page in claimed]


def test_pages_without_a_past_go_first(dirty_pages):
    Page.objects.filter(number=1).update(attempts=1)
    assert builder(dirty_pages)[0] == [2, 3, 4, 5, 6, 7, 8]


def test_a_page_that_fails_is_tried_once_however_long_the_build(sections, configure):
    """Even where its claim is old by the time that the others are built."""
    configure(LEASE_SECONDS=0)

    def bad_first(self: Any, row: Any) -> float:
        return 7.0 if row.slug == "product-00000" else 0.5

    make_products(4)
    sections.register("products", limited(1, on_error="raise", priority=bad_first))
    for attempts in (1, 2):
        assert len(build().sections[0].errors) == 1
        assert page_row("products", 1).attempts == attempts
