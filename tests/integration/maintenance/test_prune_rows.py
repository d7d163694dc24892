"""Pages and sections that are past go, and their public names with them."""

from __future__ import annotations

import io
from datetime import timedelta
from typing import Any

import pytest
from django.core.management import call_command
from django.db.models.functions import Now
from django.utils import timezone

from django_sitemaps_plus.building.build import build
from django_sitemaps_plus.maintenance import prune as pruning
from django_sitemaps_plus.maintenance.prune import PruneReport
from django_sitemaps_plus.models import (
    Change,
    Page,
    Section,
    State,
)
from tests.support.builds import build_fully
from tests.support.published import page_row
from tests.support.shop import limited, make_products
from tests.support.testapp.models import Product

from .time import DAYS, objects, pass_time, pointed, run

pytestmark = [pytest.mark.database, pytest.mark.django_db(transaction=True)]


def test_a_retired_page_is_served_until_it_goes(products, client, media_root):
    """Then it is gone for good, its public name too."""
    Product.objects.filter(pk__lte=products[8].pk).delete()
    Product.objects.filter(pk__gt=products[10].pk).delete()
    build_fully(allow_shrink=True)
    retired = Page.objects.filter(state=State.RETIRED).earliest("number")
    path = f"/sitemap-products-{retired.number}.xml"
    shown = media_root / "sitemaps" / "public" / f"{path[1:]}.gz"
    assert client.get(path).status_code == 200
    assert shown.exists()
    assert run().pages == 0
    pass_time()
    assert run().pages == 2
    assert client.get(path).status_code == 410
    assert not shown.exists()
    pass_time()
    run()
    assert objects() == pointed()
    assert not (media_root / "sitemaps/products" / str(retired.number)).exists()


class TestMissingSections:
    @pytest.fixture(autouse=True)
    def missing(self, products: Any, sections: Any) -> None:
        """Have products leave the registry."""
        make_products(5, first=25)
        build_fully()
        sections.register("others", limited(20))
        sections.unregister("products")
        build()

    def leave(self, hours: float) -> PruneReport:
        """Prune when they are missing for so long."""
        since = timezone.now() - timedelta(hours=hours)
        Section.objects.filter(name="products").update(missing_since=since)
        return run()

    def test_it_goes_after_a_day(self, client, media_root):
        """A deploy may be under way; rows, objects and names go then."""
        assert self.leave(23).pages == 0
        assert client.get("/sitemap-products-1.xml").status_code == 200
        assert build().missing == ["products"]
        report = self.leave(25)
        assert (report.pages, report.sections) == (3, ["products"])
        assert client.get("/sitemap-products-1.xml").status_code == 410
        assert client.get("/sitemap-products-9.xml").status_code == 404
        assert build().missing == []
        call_command("sitemap_status", stdout=io.StringIO())
        pass_time()
        run()
        assert objects() == set()
        assert not list((media_root / "sitemaps" / "public").glob("*products*"))
        assert run() == PruneReport()

    def test_it_comes_back_with_new_numbers(self, sections, client, crawl):
        """No number stands for two pages."""
        self.leave(25)
        run()
        sections.register("products", limited(10))
        assert build_fully().sections[1].entries == 30
        assert [*crawl()] == [
            *[f"/sitemap-others-{n}.xml" for n in (1, 2)],
            *[f"/sitemap-products-{n}.xml" for n in (4, 5, 6)],
        ]
        assert client.get("/sitemap-products-1.xml").status_code == 410

    def test_one_that_comes_back_meanwhile_stays(self, monkeypatch):
        """Another process, that knows it, has just built it."""
        real = pruning.lock

        def come_back(sections: Any) -> None:
            Section.objects.filter(name="products").update(missing_since=None)
            real(sections)

        monkeypatch.setattr(pruning, "lock", come_back)
        report = self.leave(25)
        assert (report.pages, report.sections) == (0, [])
        assert page_row("products", 1).object

    def test_its_changes_go(self):
        """Nobody will read them; those of others stay."""
        for name, low, at in (
            ("products", "1", Now() - DAYS),
            ("products", "2", Now()),
            ("others", "1", Now() - DAYS),
        ):
            Change.objects.create(section=name, kind="key", low=low, at=at)
        run()
        assert [change.low for change in Change.objects.order_by("pk")] == ["2", "1"]
