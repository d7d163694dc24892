"""A source that fails keeps back its own pages, and says so; all others are built."""

from __future__ import annotations

from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from django_sitemaps_plus.building.build import build
from django_sitemaps_plus.models import MAX_ATTEMPTS, Page, Section
from tests.support.builds import build_fully, pass_pauses
from tests.support.published import age, page_row, seen
from tests.support.shop import limited, make_products, product_urls
from tests.support.testapp.models import Product

PATHS = tuple(f"/sitemap-products-{number}.xml" for number in (1, 2, 3))


def refuse_bad_rows(self: Any, row: Product) -> float:
    """Give a priority, but not to rows that say they are bad."""
    if row.frequency == "bad":
        raise ValueError("row is bad")
    return 0.5


def edit(number: int, **fields: Any) -> None:
    assert Product.objects.filter(slug=f"product-{number:05}").update(**fields) == 1


def test_a_source_that_cannot_be_planned_keeps_back_no_other(sections, crawl):
    """It is named, and the sections before and after it are built."""
    make_products(25)
    sections.register("products", limited(10))
    build_fully()
    edit(1, slug="renamed")
    sections.register("broken", limited(5, get_queryset=lambda self: 1 / 0))
    sections.register("others", limited(30))
    with pytest.raises(CommandError, match=r"^broken: .*ZeroDivisionError"):
        call_command("build_sitemaps", full=True, verbosity=0)
    found = crawl()
    assert set(found) == {*PATHS, "/sitemap-others-1.xml"}
    assert "https://example.com/products/renamed/" in found[PATHS[0]]


@pytest.mark.database
@pytest.mark.parametrize("text", ["\0", "\ud800"], ids=ascii)
def test_an_error_may_have_any_text(sections, text):
    """Not every database stores it as it is; the others are built all the same."""

    def priority(self: Any, row: Product) -> float:
        raise ValueError(f"row {text} is bad")

    def get_queryset(self: Any) -> Any:
        raise ValueError("row \0 is bad")  # half a surrogate would end xdist's worker

    make_products(5)
    sections.register("odd", limited(10, on_error="raise", priority=priority))
    sections.register("others", limited(10))
    sections.register("unplanned", limited(10, get_queryset=get_queryset))
    for _ in range(2):
        odd, others, unplanned = build().sections
        assert (len(odd.errors), others.entries, len(unplanned.errors)) == (1, 5, 1)
        assert "ValueError: row " in page_row("odd", 1).error
        assert "ValueError: row " in Section.objects.get(name="unplanned").fault


class TestPages:
    @pytest.fixture(autouse=True)
    def published(self, sections: Any) -> None:
        """Publish three pages, then break a row of the second and edit all."""
        make_products(25)
        source = limited(10, on_error="raise", priority=refuse_bad_rows)
        sections.register("products", source)
        sections.register("others", limited(30))
        build_fully()
        age()
        for number in (1, 12, 23):
            edit(number, slug=f"product-{number:05}-x")
        edit(13, frequency="bad")

    def test_the_others_are_built(self, client, crawl):
        """The page that fails is served as it was, and is named with the cause."""
        before = seen(client, PATHS[1])
        products, others = build_fully().sections
        assert [error[:7] for error in products.errors] == ["page 2:"]
        assert "row is bad" in products.errors[0]
        assert (products.stored, others.stored) == (2, 1)
        assert seen(client, PATHS[1]) == before
        new = [path for path in PATHS if b"-x/" in client.get(path).content]
        assert new == [PATHS[0], PATHS[2]]
        urls = [url.replace("-x/", "/") for path in PATHS for url in crawl()[path]]
        assert urls == product_urls(range(25))

    def test_once_mended_it_is_built(self, client):
        """The page stays dirty meanwhile, so that no new change is needed."""
        build_fully()
        edit(13, frequency="daily")
        (products, _) = build().sections
        assert (products.errors, products.stored) == ([], 1)
        assert b"-x/" in client.get(PATHS[1]).content

    def test_there_are_pauses_after_some_attempts(self):
        """It then costs no build anything, is still reported, and --full tries it."""
        build_fully()
        for _ in range(MAX_ATTEMPTS - 1):
            assert len(build().sections[0].errors) == 1
        assert list(Page.objects.parked()) == [page_row("products", 2)]
        report = build()
        assert report.sections[0].errors == []
        assert report.problems == [
            "products: 1 pages are still to be built; see sitemap_status"
        ]
        edit(13, frequency="daily")
        assert build_fully().problems == []
        assert not Page.objects.parked().exists()

    def test_pauses_grow_to_an_hour(self):
        """Each is twice as long as the one before; no build in between tries it."""
        build_fully()
        pauses = []
        for _ in range(MAX_ATTEMPTS + 8):
            pass_pauses()
            began = timezone.now()
            assert len(build().sections[0].errors) == 1
            if due := page_row("products", 2).not_before:
                pauses.append(round((due - began).total_seconds() / 60))
                assert build().sections[0].errors == []
        assert pauses == [1, 2, 4, 8, 16, 32, 60, 60, 60, 60]

    def test_once_the_cause_is_gone_plain_builds_alone_recover(self):
        """The page that nobody edits too, when its pause is over."""
        build_fully()
        for _ in range(MAX_ATTEMPTS):
            build()
        edit(13, frequency="daily")
        assert len(build().problems) == 1
        pass_pauses()
        assert build().problems == []
        assert page_row("products", 2).attempts == 0

    @pytest.mark.parametrize("is_edit", [True, False], ids=["edit", "deploy"])
    def test_an_edit_and_a_deploy_end_a_pause(self, is_edit, sections):
        build_fully()
        for _ in range(MAX_ATTEMPTS + 3):
            pass_pauses()
            build()
        attempts = page_row("products", 2).attempts
        if is_edit:
            Product.objects.get(slug="product-00014").save()
            assert len(build().sections[0].errors) == 1
            assert page_row("products", 2).attempts == attempts + 1
            assert build().sections[0].errors == []
            edit(13, frequency="daily")
            Product.objects.get(slug="product-00014").save()
        else:
            sections.unregister("products")
            sections.register("products", limited(10))
        assert build().problems == []
