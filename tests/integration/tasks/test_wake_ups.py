"""A save leads to a new page: by messages, and without them."""

from __future__ import annotations

import pytest

from django_sitemaps_plus import tasks
from django_sitemaps_plus.models import Change, Page
from tests.reliability.tools.published import published_urls
from tests.support.servers.programs import HOST, wait_until
from tests.support.servers.running import take, waiting, working
from tests.support.servers.workers import Broker, messages_to, send_wakeups
from tests.support.shop import make_products
from tests.support.testapp.models import Product

from .sources import ProductSource

pytestmark = pytest.mark.django_db(transaction=True)


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


class TestMessages:
    def test_a_save_is_published_without_any_command(self, any_celery, published):
        """And so are those that come while the first is on its way."""
        make_products(3)
        published(ProductSource)
        with working(any_celery, ProductSource):
            rename(0, "first")
            wait_until_published("first")
            rename(1, "second")
            rename(2, "third")
            wait_until_published("second", "third")

    def test_each_section_has_a_message_of_its_own(
        self, any_celery, published, sections
    ):
        make_products(1)
        sections.register("others", ProductSource)
        published(ProductSource)
        rename(0, "of-both")
        asked = sorted(message.payload[0] for message in take(any_celery))
        assert asked == [[["others"]], [["products"]]]

    def test_a_broker_that_fails_is_left_alone_for_a_while(
        self, celery, published, chaos, caplog
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

    def test_sections_that_a_worker_does_not_know_are_left_out(self, celery, published):
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

    def test_an_eager_task_builds_nothing(self, celery, published):
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
