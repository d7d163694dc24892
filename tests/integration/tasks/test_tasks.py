"""Celery's tasks: messages, workers that share pages or die, and what is left to do."""

import json
import re
import threading
from collections import Counter
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.core.cache import cache
from django.core.management import CommandError, call_command
from django.db import connection, connections  # noqa: F401 - of the mark
from django.db.models import F
from django.utils import timezone

from django_sitemaps_plus import tasks
from django_sitemaps_plus.building.guard import FALLEN
from django_sitemaps_plus.diagnostics.audit import read_findings
from django_sitemaps_plus.executors.base import get_executor
from django_sitemaps_plus.models import MAX_DEATHS, Change, Page, Section, Worker
from django_sitemaps_plus.models.claims import BATCH_PAGES
from django_sitemaps_plus.sites import get_site
from tests.integration.diagnostics.time import objects, pass_time, pointed
from tests.reliability.tools.published import published_urls
from tests.reliability.tools.shop import unfinished
from tests.support.servers.programs import HOST, wait_until
from tests.support.servers.running import sweeping, take, waiting, working
from tests.support.servers.workers import Broker, messages_to, pooled, send_wakeups
from tests.support.shop import make_products, product_urls
from tests.support.testapp.models import Product

from .sources import HangingSource, PoisonSource, ProductSource, RoomySource, SlowSource

pytestmark = pytest.mark.django_db(transaction=True)

HANG = 30


def rename(number: int, slug: str) -> None:
    product = Product.objects.order_by("pk")[number]
    product.slug = slug
    product.save(update_fields=["slug"])


def wait_until_published(*slugs: str) -> None:
    """Return once a crawler finds products, and nothing is left to do."""
    urls = {f"https://example.com/products/{slug}/" for slug in slugs}
    wait_until(lambda: urls <= set(published_urls()), f"{slugs} are published")
    wait_until(lambda: not Page.objects.dirty().exists(), "nothing is left to do")


def wait_until_built(count: int, message: str) -> None:
    pages = Page.objects.of("default", "products")
    wait_until(lambda: pages.filter(built__gt=0).count() >= count, message)


def told(message: Any) -> tuple[str, Any]:
    arguments, keywords, _ = message.payload
    assert keywords == {}
    assert message.headers["ignore_result"]
    return message.headers["task"].rpartition(".")[2], arguments


def refresh() -> None:
    """Refresh in a thread, which has a connection of its own."""
    try:
        tasks.refresh()
    finally:
        connections.close_all()


def wait_until_done(entries: int, *timeout_seconds: float) -> None:
    """Return once a crawler finds so many entries, and nothing is left to do."""
    wait_until(
        lambda: (
            not Page.objects.dirty().exists()
            and Page.objects.filter(section__name="", built__gt=0).exists()
        ),
        "all is built",
        *timeout_seconds,
    )
    assert len(published_urls()) == entries
    assert unfinished() == []


def stored(media_root: Path) -> int:
    """Return how many objects of pages there are."""
    return len(list((media_root / "sitemaps").glob("*/products/*/*.xml.gz")))


def be_at_work(builders: int) -> None:
    """Make all pages dirty, and let builders be at some of them."""
    Page.objects.exclude(number=0).update(wanted=9)
    section = Section.objects.get(name="products")
    for _ in range(builders):
        assert len(Page.objects.claim([section.pk])) == BATCH_PAGES


def poison() -> None:
    """Make twelve products, of which one kills who renders it."""
    row = make_products(12)[5]
    Product.objects.filter(pk=row.pk).update(name="poison")


class TestMessages:
    """A save leads to a new page, whatever becomes of the broker."""

    def test_a_save_is_published_without_any_command(self, any_celery, publish):
        """And so are those that come while the first is on its way.

        Sections that a worker does not know are left out: another version may.
        """
        make_products(4)
        publish(ProductSource)
        with working(any_celery, ProductSource) as (worker,):
            rename(0, "first")
            wait_until_published("first")
            rename(1, "second")
            rename(2, "third")
            wait_until_published("second", "third")
            Product.objects.filter(slug="product-00003").update(slug="untold")
            Page.objects.update(wanted=F("wanted") + 1)
            for names in (["nobody"], ["nobody", "products"]):
                tasks.build_pages.delay(names)
                tasks.refresh.delay(names)
            wait_until_published("untold")
            assert "Traceback" not in worker.printed()

    def test_each_section_has_a_message_of_its_own(self, any_celery, publish):
        make_products(1)
        publish(ProductSource, "others")
        publish(ProductSource)
        rename(0, "of-both")
        asked = sorted(message.payload[0] for message in take(any_celery))
        assert asked == [[["others"]], [["products"]]]

    def test_a_broker_that_fails_is_left_alone_for_a_while(
        self, celery, publish, chaos, caplog
    ):
        """It takes connections and never answers; the first of five saves tries it."""
        make_products(1)
        publish(ProductSource)
        chaos.black_hole()
        with messages_to(Broker(f"redis://{HOST}:{chaos.port}/0")):
            for number in range(5):
                rename(0, f"name-{number}")
                send_wakeups()
        assert chaos.accepted == 1
        assert caplog.text.count("no worker was woken") == 1

    def test_an_eager_task_builds_nothing(self, celery, publish):
        make_products(1)
        publish(ProductSource)
        with messages_to(celery) as app:
            app.conf.task_always_eager = True
            try:
                rename(0, "eager")
            finally:
                app.conf.task_always_eager = False
        assert Change.objects.count() == 1
        assert waiting(celery) == 0

    def test_messages_name_sections_and_no_result_is_kept(self, any_celery, publish):
        """Nothing that is old or secret waits in a broker, and no backend fills up.

        There are messages of a save, of a call for help, and of news for engines.
        """
        (product, *_) = make_products(40)
        publish(ProductSource)
        product.save()
        wait_until(lambda: waiting(any_celery), "a refresh is asked for")
        Page.objects.exclude(number=0).update(wanted=9)
        tasks.refresh(["products"])
        get_executor().notify(timezone.now())
        found = [told(message) for message in take(any_celery)]
        assert found[0] == ("refresh", [["products"]])
        assert found[1] == ("build_pages", [["products"]])
        assert found[-1] == ("notify", [])

    def test_help_that_cannot_be_called_delays_a_build_a_little(
        self, celery, sections, configure, chaos, caplog
    ):
        """The broker takes connections and never answers; it builds all by itself."""
        configure(MAX_BUILDERS=3)
        make_products(40)
        sections.register("products", ProductSource)
        chaos.black_hole()
        with messages_to(Broker(f"redis://{HOST}:{chaos.port}/0")):
            thread = threading.Thread(target=refresh, daemon=True)
            thread.start()
            thread.join(HANG)
            assert not thread.is_alive(), "it waits for the broker"
        assert chaos.accepted
        assert "No worker helps" in caplog.text
        assert len(published_urls()) == 40


class TestSharedWork:
    """Workers share the pages of a refresh; the last one settles the rest."""

    def test_two_workers_share_the_pages(self, celery, sections, configure, media_root):
        """Each page is built once, and the index names all of them in the end.

        What a task has no time for is left to the next.
        """
        configure(TASK_SECONDS=1)
        make_products(40)
        sections.register("products", SlowSource)
        with working(celery, SlowSource, 2) as workers:
            tasks.refresh.delay()
            wait_until_done(40)
            printed = "".join([worker.printed() for worker in workers])
        # After a refresh that built all of them the next would have nothing to do.
        seconds = re.findall(
            r"tasks\.build_pages\[\S+\] succeeded in ([\d.]+)", printed
        )
        assert max(map(float, seconds)) >= 1
        builders = Counter(url.split("/")[3] for url in published_urls())
        assert len(builders) == 2
        assert min(builders.values()) >= 5
        assert stored(media_root) == 40

    @pytest.mark.parametrize(
        ("task", "given", "others", "asked"),
        [
            (tasks.refresh, {"MAX_BUILDERS": 3}, 0, 2),
            (tasks.refresh, {"MAX_BUILDERS": 3}, 1, 1),
            (tasks.refresh, {"MAX_BUILDERS": 3}, 3, 0),
            # A task that has no time left asks for another, but not for more each time.
            (tasks.build_pages, {"MAX_BUILDERS": 2, "TASK_SECONDS": 0}, 1, 1),
            (tasks.build_pages, {"MAX_BUILDERS": 2, "TASK_SECONDS": 0}, 2, 0),
        ],
    )
    def test_builders_at_work_are_counted(
        self, celery, publish, configure, task, given, others, asked
    ):
        configure(LEASE_SECONDS=60, **given)
        make_products(40)
        publish(ProductSource)
        be_at_work(others)
        task()
        assert waiting(celery) == asked

    def test_a_section_that_lost_most_of_its_entries_is_held(self, celery, publish):
        """Whoever built the last page says so, and sitemap_status shows it."""
        products = make_products(200)
        publish(RoomySource)
        Product.objects.filter(pk__lt=products[150].pk).delete()
        with working(celery, RoomySource, 2):
            for _ in range(3):
                tasks.refresh.delay()
            judged = Section.objects.filter(hold_reason=FALLEN)
            wait_until(judged.exists, "it is held")
        assert len(published_urls()) == 200
        with pytest.raises(CommandError, match="--allow-shrink"):
            call_command("sitemap_status")

    def test_what_is_listed_is_audited(self, any_celery, sections, configure):
        make_products(3)
        sections.register("products", ProductSource)
        assert get_executor().audit("default")
        [message] = take(any_celery)
        assert told(message) == ("audit_listed", ["default"])
        tasks.audit_listed("default")
        findings = read_findings(get_site())
        assert (findings["entries"], findings["is_cut"]) == (3, False)
        configure(TASK_SECONDS=0)
        tasks.audit_listed("default")
        assert read_findings(get_site())["is_cut"]

    def test_an_audit_and_a_prune(self, celery, publish, client):
        """An update() without lastmod is found; what it replaces goes in time."""
        make_products(15)
        publish(RoomySource)
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

    @pytest.mark.database
    @pytest.mark.skipif("connection.vendor != 'postgresql'", reason="has no pools")
    def test_a_pool_that_is_open_before_the_fork(self, celery, sections):
        """Celery closes it, and each process opens its own: no row is on two pages."""
        make_products(60)
        sections.register("products", ProductSource)
        options = {"pool": "prefork", "concurrency": 3, "DATABASES": pooled()}
        options["CELERY_IMPORTS"] = ["tests.integration.tasks.early"]
        with working(celery, ProductSource, **options), sweeping(celery):
            tasks.refresh.delay()
            wait_until_built(60, "all are built")
        assert sorted(published_urls()) == product_urls(range(60))


class TestPresence:
    """Others know from a row whether a worker is there."""

    @pytest.mark.parametrize("pool", ["solo", "prefork"])
    def test_one_that_is_killed_is_told_from_one_that_ends(self, celery, pool):
        with working(celery, ProductSource, pool=pool) as (worker,):
            wait_until(Worker.objects.exists, "it is seen")
            worker.kill()
            [seen] = Worker.objects.all()
            assert (seen.kind, seen.has_ended) == ("celery", False)
            worker.start()
            wait_until(
                lambda: Worker.objects.get().seen_at > seen.seen_at, "it is back"
            )
            worker.stop()
            assert Worker.objects.get().has_ended


class TestLostWorkers:
    """Workers die, are killed by what they build, or stopped by a time limit."""

    def test_a_page_that_kills_its_workers_is_left_alone(
        self, any_celery, sections, capsys
    ):
        """All others are built, and sitemap_status shows the one that is not."""
        poison()
        sections.register("products", PoisonSource)
        with (
            working(any_celery, PoisonSource, pool="prefork", concurrency=2),
            sweeping(any_celery),
        ):
            wait_until(lambda: Page.objects.parked().exists(), "it is left alone")
            wait_until_built(11, "all others are")
        (parked,) = Page.objects.parked()
        assert parked.deaths == MAX_DEATHS
        with pytest.raises(
            CommandError, match=r"Pages given up for now: 1.*Next attempt: "
        ):
            call_command("sitemap_status", json=True)
        (section,) = json.loads(capsys.readouterr().out)["sections"]
        assert (section["parked"], section["entries"]) == (1, 11)

    def test_a_message_whose_worker_died_comes_back(self, celery, sections, configure):
        """At once, to another process of the pool, without any beat or help."""
        configure(MAX_BUILDERS=1)
        poison()
        sections.register("products", PoisonSource)
        tasks.refresh.delay()
        with working(celery, PoisonSource, pool="prefork"):
            # The dead have claimed eight pages; a message that comes back has the rest.
            wait_until_built(4, "others are built")

    def test_a_soft_limit_loses_no_row(self, celery, sections):
        """The row at which it comes is not bad; its page is built by the next task."""
        slow = make_products(4)[2]
        Product.objects.filter(pk=slow.pk).update(name="slow")
        cache.delete("hung")
        sections.register("products", HangingSource)
        limited = {"pool": "prefork", "CELERY_TASK_SOFT_TIME_LIMIT": 1}
        with working(celery, HangingSource, **limited) as (worker,), sweeping(celery):
            wait_until_built(4, "all are built")
            assert "SoftTimeLimitExceeded" in worker.printed()
        assert len(published_urls()) == 4
        assert not Page.objects.exclude(error="").exists(), "nobody is to blame"
