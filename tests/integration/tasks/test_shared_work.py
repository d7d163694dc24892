"""Several workers share the pages of a refresh, and the last one settles the rest."""

from __future__ import annotations

import re
from collections import Counter
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db.models import F

from django_sitemaps_plus import tasks
from django_sitemaps_plus.models import Page, Section
from django_sitemaps_plus.models.claims import BATCH_PAGES
from tests.integration.diagnostics.time import objects, pass_time, pointed
from tests.reliability.tools.published import published_urls
from tests.reliability.tools.shop import unfinished
from tests.support.servers.programs import wait_until
from tests.support.servers.running import waiting, working
from tests.support.shop import make_products
from tests.support.testapp.models import Product

from .sources import ProductSource, RoomySource, SlowSource

pytestmark = pytest.mark.django_db(transaction=True)


def wait_until_done(entries: int) -> None:
    """Return once a crawler finds so many entries, and nothing is left to do."""
    wait_until(
        lambda: (
            not Page.objects.dirty().exists()
            and Page.objects.filter(section__name="", built__gt=0).exists()
        ),
        "all is built",
    )
    assert len(published_urls()) == entries
    assert unfinished() == []


def stored(media_root: Path) -> int:
    """Return how many objects of pages there are."""
    return len(list((media_root / "sitemaps").glob("*/products/*/*.xml.gz")))


def test_two_workers_share_the_pages(celery, published, media_root):
    """Each page is built once, and the index names all of them in the end."""
    make_products(30)
    published(SlowSource, builds=False)
    with working(celery, SlowSource, 2):
        tasks.refresh.delay()
        wait_until_done(30)
    builders = Counter(url.split("/")[3] for url in published_urls())
    assert len(builders) == 2
    assert min(builders.values()) >= 5
    assert stored(media_root) == 30


@pytest.mark.parametrize(
    ("task", "given", "others", "asked"),
    [
        (tasks.refresh, {"MAX_BUILDERS": 3}, 0, 2),
        (tasks.refresh, {"MAX_BUILDERS": 3}, 1, 1),
        (tasks.refresh, {"MAX_BUILDERS": 3}, 3, 0),
        # One that has no time left asks for another, but not for one more each time.
        (tasks.build_pages, {"MAX_BUILDERS": 2, "TASK_SECONDS": 0}, 1, 1),
        (tasks.build_pages, {"MAX_BUILDERS": 2, "TASK_SECONDS": 0}, 2, 0),
    ],
)
def test_builders_at_work_are_counted(
    celery, published, configure, task, given, others, asked
):
    configure(LEASE_SECONDS=60, **given)
    be_at_work(published, others)
    task()
    assert waiting(celery) == asked


def be_at_work(published: Any, builders: int) -> None:
    """Publish 40 pages, make them dirty, and let builders be at some of them."""
    make_products(40)
    published(ProductSource)
    Page.objects.exclude(number=0).update(wanted=9)
    section = Section.objects.get(name="products")
    for _ in range(builders):
        assert len(Page.objects.claim([section.pk])) == BATCH_PAGES


def test_a_section_that_lost_most_of_its_entries_is_held(celery, published):
    """Whoever built the last page says so, and sitemap_status shows it."""
    products = make_products(200)
    published(RoomySource)
    Product.objects.filter(pk__lt=products[150].pk).delete()
    with working(celery, RoomySource, 2):
        for _ in range(3):
            tasks.refresh.delay()
        judged = Section.objects.filter(hold_reason__contains="--allow-shrink")
        wait_until(judged.exists, "it is held")
    assert len(published_urls()) == 200
    with pytest.raises(CommandError, match="--allow-shrink"):
        call_command("sitemap_status")


def test_what_a_task_has_no_time_for_is_left_to_the_next(celery, published, configure):
    configure(TASK_SECONDS=1)
    make_products(30)
    published(SlowSource, builds=False)
    with working(celery, SlowSource) as (worker,):
        tasks.refresh.delay()
        wait_until_done(30)
        printed = worker.printed()
    # Of a refresh that built all of them the next would have nothing to do.
    seconds = re.findall(r"tasks\.build_pages\[\S+\] succeeded in ([\d.]+)", printed)
    assert max(map(float, seconds)) >= 1


def test_an_audit_and_a_prune(celery, published, client):
    """An update() that leaves the lastmod is found; what it replaces goes in time."""
    make_products(15)
    published(RoomySource)
    Product.objects.filter(slug="product-00004").update(slug="told-nobody")
    tasks.refresh()
    assert b"told-nobody" not in client.get("/sitemap-products-1.xml").content
    Page.objects.update(checked_at=F("checked_at") - timedelta(days=30))
    tasks.audit()
    assert b"told-nobody" in client.get("/sitemap-products-1.xml").content
    before = objects()
    tasks.prune()
    assert objects() == before > pointed()
    pass_time()
    tasks.prune()
    assert objects() == pointed()
