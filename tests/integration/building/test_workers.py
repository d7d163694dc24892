"""Local processes build what one process builds."""

from __future__ import annotations

import os
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from django_sitemaps_plus.exceptions import SourceError
from django_sitemaps_plus.models import Page, Section
from tests.integration.builds import build
from tests.integration.faults import fail_save
from tests.integration.published import age, rows, seen
from tests.integration.shop import limited, make_products
from tests.testapp.models import Product

pytestmark = pytest.mark.django_db(transaction=True)

PATHS = ("/sitemap.xml", *[f"/sitemap-products-{n}.xml" for n in range(1, 6)])


def hashes() -> list[tuple[Any, ...]]:
    fields = ("section__name", "number", "low", "high", "entries", "skipped", "dropped")
    return list(
        Page.objects.order_by("section__name", "number").values_list(
            *fields, "plain_hash", "gzip_hash", "lastmod"
        )
    )


@pytest.fixture
def products(sections: Any) -> None:
    """Have five pages, with rows and values that are left out."""
    made = make_products(45)
    Product.objects.filter(pk=made[7].pk).update(slug="no slug")
    Product.objects.filter(pk=made[33].pk).update(popularity=7)
    sections.register("products", limited(10, priority="popularity"))


class TestWorkers:
    def test_two_workers_give_the_bytes_of_one(self, products):
        """The same objects, counts and dates, in the same order."""
        alone = build()
        expected = hashes()
        Section.objects.all().delete()
        together = build(workers=2)
        assert hashes() == expected
        for one, two in zip(alone.sections, together.sections, strict=True):
            assert (one.entries, one.skipped, one.dropped) == (44, 1, 1)
            assert (two.entries, two.skipped, two.dropped) == (44, 1, 1)
            assert two.stored == one.stored == 5

    def test_they_are_other_processes(self, sections):
        """No row is rendered in the process that was asked."""
        make_products(4)
        parent = os.getpid()

        def location(self: Any, row: Product) -> str:
            if os.getpid() == parent:
                raise ValueError("rendered by who should wait")
            return f"/{row.slug}/"

        sections.register("products", limited(2, location=location))
        assert build(workers=2).sections[0].entries == 4
        assert build(workers=1).sections[0].entries == 0

    def test_nothing_changed_is_nothing_stored(self, products, client):
        """A second build with workers stores no object either."""
        build()
        age()
        before = rows(), seen(client, *PATHS)
        assert build(workers=3).sections[0].stored == 0
        assert (rows(), seen(client, *PATHS)) == before

    def test_an_overflow_in_a_worker_makes_a_new_plan(self, sections, crawl):
        """What a worker cannot do comes back to the one who waits."""
        make_products(30)
        sections.register("products", limited(10, key="slug"))
        build(workers=2)
        Product.objects.bulk_create([Product(slug=f"a-{n:02}") for n in range(30)])
        build(workers=2)
        assert list(map(len, crawl().values())) == [10] * 6


class TestFailures:
    def test_a_storage_that_fails_in_a_worker(self, products, client, monkeypatch):
        """The command says so, and nothing is published."""
        build()
        age()
        Product.objects.update(popularity=0.5)
        before = rows(), seen(client, *PATHS)
        fail_save(monkeypatch, 1)
        with pytest.raises(CommandError, match="No space left on device"):
            call_command("build_sitemaps", workers=2, verbosity=0)
        assert (rows(), seen(client, *PATHS)) == before

    def test_a_source_that_fails_in_a_worker(self, sections):
        """Its error names the section and the cause."""
        make_products(4)
        source = limited(2, on_error="raise", priority=lambda self, row: 7)
        sections.register("products", source)
        with pytest.raises(SourceError, match=r"'products'.*priority 7 is no number"):
            build(workers=2)

    def test_a_worker_that_is_killed(self, sections, client):
        """The command ends with a message; what was published stays."""
        make_products(4)
        parent = os.getpid()

        def location(self: Any, row: Product) -> str:
            if os.getpid() != parent:
                os._exit(9)  # as the kernel does when memory runs out
            return f"/{row.slug}/"

        sections.register("products", limited(2, location=location))
        build()
        age()
        before = rows(), seen(client, *PATHS)
        with pytest.raises(CommandError, match="worker"):
            call_command("build_sitemaps", workers=2, verbosity=0)
        assert (rows(), seen(client, *PATHS)) == before
