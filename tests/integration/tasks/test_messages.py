"""A save leads to a new page: what messages hold, and a broker that is gone."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from django.db import connections
from django.utils import timezone

from django_sitemaps_plus import tasks
from django_sitemaps_plus.executors.base import get_executor
from django_sitemaps_plus.models import Change, Page
from tests.reliability.tools.published import published_urls
from tests.support.servers.programs import HOST, wait_until
from tests.support.servers.running import take, waiting, working
from tests.support.servers.workers import Broker, messages_to, send_wakeups
from tests.support.shop import make_products
from tests.support.testapp.models import Product

from .sources import ProductSource

pytestmark = pytest.mark.django_db(transaction=True)

HANG = 30


def rename(number: int, slug: str) -> None:
    """Save the n-th product under another slug."""
    product = Product.objects.order_by("pk")[number]
    product.slug = slug
    product.save(update_fields=["slug"])


def is_published(slug: str) -> bool:
    """Return whether a crawler finds a product."""
    return f"https://example.com/products/{slug}/" in published_urls()


def wait_until_published(*slugs: str) -> None:
    """Return once a crawler finds products, and nothing is left to do."""
    wait_until(lambda: all(map(is_published, slugs)), f"{slugs} are published")
    wait_until(lambda: not Page.objects.dirty().exists(), "nothing is left to do")


def test_a_save_is_published_without_any_command(any_celery, published):
    """And so are those that come while the first is on its way."""
    make_products(3)
    published(ProductSource)
    with working(any_celery, ProductSource):
        rename(0, "first")
        wait_until_published("first")
        rename(1, "second")
        rename(2, "third")
        wait_until_published("second", "third")


def test_each_section_has_a_message_of_its_own(any_celery, published, sections):
    make_products(1)
    sections.register("others", ProductSource)
    published(ProductSource)
    rename(0, "of-both")
    asked = sorted(message.payload[0] for message in take(any_celery))
    assert asked == [[["others"]], [["products"]]]


def test_a_broker_that_fails_is_left_alone_for_a_while(
    celery, published, chaos, caplog
):
    """It takes connections and never answers; the first of five saves tries it."""
    make_products(1)
    published(ProductSource)
    chaos.black_hole()
    with messages_to(Broker(f"redis://{HOST}:{chaos.port}/0")):
        for number in range(5):
            rename(0, f"name-{number}")
            send_wakeups()
    assert chaos.accepted == 1
    assert caplog.text.count("no worker was woken") == 1


def test_sections_that_a_worker_does_not_know_are_left_out(celery, published):
    """Another version of the project may know them."""
    make_products(2)
    published(ProductSource)
    rename(0, "known")
    with working(celery, ProductSource) as (worker,):
        tasks.refresh.delay(["nobody"])
        tasks.build_pages.delay(["nobody"])
        tasks.refresh.delay(["nobody", "products"])
        wait_until_published("known")
        assert "Traceback" not in worker.printed()


def test_an_eager_task_builds_nothing(celery, published):
    make_products(1)
    published(ProductSource)
    with messages_to(celery) as app:
        app.conf.task_always_eager = True
        try:
            rename(0, "eager")
        finally:
            app.conf.task_always_eager = False
    assert Change.objects.count() == 1
    assert waiting(celery) == 0


def told(message: Any) -> tuple[str, Any]:
    """Return the task that a message is for, and its arguments."""
    arguments, keywords, _ = message.payload
    assert keywords == {}
    return message.headers["task"].rpartition(".")[2], arguments


def test_messages_name_sections_and_no_result_is_kept(any_celery, published):
    """Of a save, of a call for help, and of news for engines; never what has changed.

    So nothing that is old or secret waits in a broker, and no backend fills up.
    """
    (product, *_) = make_products(40)
    published(ProductSource)
    product.save()
    wait_until(lambda: waiting(any_celery), "a refresh is asked for")
    Page.objects.exclude(number=0).update(wanted=9)
    tasks.refresh(["products"])
    get_executor().notify(timezone.now())
    messages = take(any_celery)
    found = [told(message) for message in messages]
    assert found[0] == ("refresh", [["products"]])
    assert found[1] == ("build_pages", [["products"]])
    assert found[-1] == ("notify", [])
    assert all(message.headers["ignore_result"] for message in messages)


def test_help_that_cannot_be_called_delays_a_build_a_little(
    celery, published, configure, chaos, caplog
):
    """Where the broker takes connections and never answers; it builds all by itself."""
    configure(MAX_BUILDERS=3)
    make_products(40)
    published(ProductSource, builds=False)
    chaos.black_hole()
    with messages_to(Broker(f"redis://{HOST}:{chaos.port}/0")):
        thread = threading.Thread(target=refresh, daemon=True)
        thread.start()
        thread.join(HANG)
        assert not thread.is_alive(), "it waits for the broker"
    assert chaos.accepted
    assert "no worker helps" in caplog.text
    assert len(published_urls()) == 40


def refresh() -> None:
    """Refresh in a thread, which has a connection of its own."""
    try:
        tasks.refresh()
    finally:
        connections.close_all()
