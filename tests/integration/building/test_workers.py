"""Local processes build what one process builds."""

from __future__ import annotations

import multiprocessing
import os
import signal
import time
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from django_sitemaps_plus.building.build import build
from django_sitemaps_plus.conf import get_settings
from django_sitemaps_plus.models import MAX_ATTEMPTS, Page, Section
from django_sitemaps_plus.storage import AtomicFileSystemStorage
from tests.support.builds import build_fully
from tests.support.published import age, page_row
from tests.support.shop import limited, make_products, product_urls
from tests.support.testapp.models import Product

pytestmark = [pytest.mark.database, pytest.mark.django_db(transaction=True)]

#: Seconds after which a process that waits for another has hung.
HANG = 60


class Other:
    """Another process of the same build, and what it is to do on its first page."""

    def __init__(self) -> None:
        self.parent = os.getpid()
        self.works = multiprocessing.get_context("fork").Event()

    def is_here(self) -> bool:
        """Return whether this is the other one; else wait until it is at work."""
        if os.getpid() != self.parent:
            self.works.set()
            return True
        assert self.works.wait(HANG), "no other process has a page"
        return False


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


@pytest.fixture
def twenty_pages(sections: Any) -> None:
    """Publish more pages than one process takes at once, then change each."""
    make_products(20)
    sections.register("products", limited(1))
    build_fully()
    age()
    for product in Product.objects.all():
        Product.objects.filter(pk=product.pk).update(slug=f"{product.slug}-x")


def urls(crawled: dict[str, list[str]]) -> list[str]:
    """Return every URL that a crawler finds, sorted, without the marks of changes."""
    found = [url for locations in crawled.values() for url in locations]
    return sorted(url.replace("-x/", "/") for url in found)


def check_all_built(crawl: Any) -> None:
    """See that the next build publishes what one that failed has not."""
    build_fully()
    assert not Page.objects.dirty().exists()
    assert urls(crawl()) == product_urls(range(20))
    assert all(url.endswith("-x/") for (url,) in crawl().values())


class TestWorkers:
    def test_two_workers_give_the_bytes_of_one(self, products):
        """The same objects, counts and dates, in the same order."""
        found = []
        for workers in (1, 2):
            Section.objects.all().delete()
            (section,) = build_fully(workers=workers).sections
            assert (section.entries, section.skipped, section.dropped) == (44, 1, 1)
            assert (section.stored, section.rendered) == (5, 5)
            found.append(hashes())
        assert found[0] == found[1]

    def test_they_share_the_pages(self, sections, crawl):
        """Who was asked renders some, another process the rest, nobody any twice."""
        made = make_products(20)
        sections.register("products", limited(1))
        build_fully()  # planning a section asks its first rows in one process alone
        sections.unregister("products")
        other = Other()

        def location(self: Any, row: Product) -> str:
            return f"/{'other' if other.is_here() else 'here'}/{row.slug}/"

        sections.register("products", limited(1, location=location))
        (section,) = build_fully(workers=2).sections
        assert (section.rendered, section.stored, section.entries) == (20, 20, 20)
        found = [url.split("/")[3:5] for (url,) in crawl().values()]
        assert {who for who, _ in found} == {"here", "other"}
        assert sorted(slug for _, slug in found) == [product.slug for product in made]


class TestFailures:
    def test_a_storage_that_fails_in_a_worker(
        self, twenty_pages, crawl, client, monkeypatch
    ):
        """The command says so; each page is a new one or an old one."""
        other = Other()
        real = AtomicFileSystemStorage._save

        def save(self: Any, name: str, content: Any) -> str:
            if other.is_here():
                raise OSError(28, "No space left on device")
            return real(self, name, content)

        with monkeypatch.context() as patch:
            patch.setattr(AtomicFileSystemStorage, "_save", save)
            with pytest.raises(CommandError, match="No space left on device"):
                call_command("build_sitemaps", full=True, workers=2, verbosity=0)
        assert urls(crawl()) == product_urls(range(20))
        check_all_built(crawl)

    def test_a_page_that_fails_is_tried_once_by_all_workers_together(self, sections):
        """Its error is named once; else many would park it in a single build."""
        make_products(4)
        source = limited(2, on_error="raise", priority=lambda self, row: 7)
        sections.register("products", source)
        for attempts in range(1, MAX_ATTEMPTS):
            report = build(workers=3)
            words = [problem[:17] for problem in sorted(report.problems)]
            assert words == ["products: page 1:", "products: page 2:"]
            assert all("priority 7 is not a number" in w for w in report.problems)
            assert page_row("products", 1).attempts == attempts
            assert page_row("products", 2).attempts == attempts

    def test_a_worker_that_is_killed(self, twenty_pages, sections, crawl):
        """The command says so at once, and the next build has all its pages."""
        other = Other()

        def location(self: Any, row: Product) -> str:
            if other.is_here():
                os.kill(os.getpid(), signal.SIGKILL)  # as where memory runs out
            return f"/products/{row.slug}/"

        sections.unregister("products")
        sections.register("products", limited(1, location=location))
        began = time.monotonic()
        with pytest.raises(CommandError, match="a worker process died"):
            call_command("build_sitemaps", full=True, workers=2, verbosity=0)
        assert time.monotonic() - began < get_settings().lease_seconds / 2
        check_all_built(crawl)
