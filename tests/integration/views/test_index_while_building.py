"""The index during a build: rendered once, never behind, never missing."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import OperationalError, ProgrammingError
from django.db.models import F
from django.utils import timezone

from django_sitemaps_plus.building import build as building
from django_sitemaps_plus.building.build import build
from django_sitemaps_plus.core import limits
from django_sitemaps_plus.models import INDEX, Page, Section, State, sections
from tests.support.documents import read_index
from tests.support.faults import fail_queries
from tests.support.published import page_row, path_of
from tests.support.shop import limited, make_products

THREE = [f"sitemap-products-{number}.xml" for number in (1, 2, 3)]


@pytest.fixture(autouse=True)
def published(shop: Any, configure: Any) -> None:
    """Have three published pages, and an index that awaits its build."""
    configure(LIVE_CACHE_SECONDS=60)
    shop()
    mark_indexes()


def mark_indexes() -> None:
    """Mark the indexes, as each flip of a page does."""
    Page.objects.filter(section__name=INDEX).update(wanted=F("wanted") + 1)


def listed(client: Any, path: str = "/sitemap.xml") -> list[str]:
    return [url.rsplit("/", 1)[1] for url in read_index(client.get(path).content)]


class TestShared:
    def test_it_is_rendered_once_until_a_page_is_published(
        self, client, django_assert_num_queries
    ):
        """By its row, the sections with a plan and the pages; later by its row."""
        with django_assert_num_queries(3):
            first = client.get("/sitemap.xml")
        with django_assert_num_queries(1):
            second = client.get("/sitemap.xml")
        assert second.content == first.content
        assert listed(client) == THREE

    def test_what_a_build_or_a_deploy_adds_is_listed_at_once(
        self, client, sections, monkeypatch
    ):
        """The index that was kept is of another version, or of other sections."""
        assert listed(client) == THREE
        sections.register("more", limited(50))
        assert listed(client) == [*THREE, "sitemap-more-1.xml"]
        sections.unregister("more")
        make_products(10, first=25)
        monkeypatch.setattr(building, "_publish_index", lambda build: None)
        build()
        assert listed(client) == [*THREE, "sitemap-products-4.xml"]

    @pytest.mark.parametrize("state", [State.NEXT, State.RETIRED])
    def test_a_page_of_another_plan_is_not_listed(self, client, state):
        """The next is not served yet; a retired one is, to those who know it."""
        Page.objects.filter(number=2).update(state=state)
        assert listed(client) == [THREE[0], THREE[2]]

    def test_sections_are_in_the_order_of_their_registration(self, client, sections):
        """However long they have been known."""
        sections.unregister("products")
        for name in ("more", "products"):
            sections.register(name, limited(50))
        assert listed(client) == ["sitemap-more-1.xml", *THREE]


class TestFallback:
    @pytest.mark.django_db(transaction=True)  # or no query comes after one that fails
    @pytest.mark.parametrize("number", [2, 3])
    @pytest.mark.parametrize("error", [OperationalError, ProgrammingError])
    def test_a_database_that_fails_on_the_way(self, client, messages, number, error):
        """The index that was published last is served, and not one made of guesses."""
        before = client.get("/sitemap.xml").content
        mark_indexes()
        with fail_queries(lambda sql: "sitemaps_plus_" in sql, number, error):
            response = client.get("/sitemap.xml")
        assert (response.status_code, response.content) == (200, before)
        assert messages("live_failed")

    def test_a_section_without_a_plan_that_cannot_be_read(self, client, sections):
        """The others stay listed; 503 if the object of the index is lost as well."""
        sections.register("broken", limited(5, get_queryset=lambda self: 1 / 0))
        assert listed(client) == THREE
        path_of(page_row(INDEX, 0)).unlink()
        assert client.get("/sitemap.xml").status_code == 503


class TestNeverBuilt:
    """Pages of a section that is planned, and whose first build fails."""

    @pytest.fixture(autouse=True)
    def planned(self, sections: Any) -> None:
        def fail(self: Any, row: Any) -> float:
            raise ValueError("bad row")

        sections.register("new", limited(50, on_error="raise", priority=fail))
        assert build().sections[1].errors
        mark_indexes()

    def test_they_are_listed_where_they_can_be_rendered(self, client, sections):
        """A deploy may have mended the source."""
        sections.unregister("new")
        sections.register("new", limited(50))
        assert listed(client) == [*THREE, "sitemap-new-1.xml"]
        assert client.get("/sitemap-new-1.xml").status_code == 200

    def test_they_are_not_listed_once_the_deploy_is_rolled_back(self, client, sections):
        """They could only answer 503."""
        sections.unregister("new")
        assert listed(client) == THREE

    def test_a_built_index_lists_published_pages_alone(self, client):
        """Whatever the processes know that serve it."""
        build()
        index = page_row(INDEX, 0)
        assert index.built == index.wanted
        assert listed(client) == THREE


class TestPlans:
    def test_a_section_whose_pages_are_on_another_index_is_not_planned_live(
        self, client, sections, monkeypatch
    ):
        """Its pages would be listed twice; one without a plan is on the first alone."""
        monkeypatch.setattr(limits, "MAX_ENTRIES", 3)
        sections.register("more", limited(15))
        build()
        Page.objects.of("default", "products").filter(number=3).update(entries=0)
        mark_indexes()
        sections.register("new", limited(50))
        assert listed(client) == [*THREE[:2], "sitemap-new-1.xml"]
        assert listed(client, "/sitemaps-2.xml") == [
            "sitemap-more-1.xml",
            "sitemap-more-2.xml",
        ]

    def test_a_section_with_a_plan_and_no_entries_is_not_planned_live(
        self, client, sections
    ):
        """Its page is listed once it has been built with entries."""
        rows = limited(5, get_queryset=lambda self: self.model.objects.none())
        sections.register("late", rows)
        build()
        sections.unregister("late")
        sections.register("late", limited(5))
        mark_indexes()
        assert listed(client) == THREE

    def test_a_section_that_came_back_is_listed_as_it_was(self, client):
        """A name that is registered is not missing, even before the next build."""
        Section.objects.filter(name="products").update(
            missing_since=timezone.now() - 2 * sections.MISSING_GRACE
        )
        make_products(25, first=25)
        assert listed(client) == THREE
