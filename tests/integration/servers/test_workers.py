"""The workers that tests start work on the database of the test."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.core.cache import caches

from tests.support.servers.programs import wait_until
from tests.support.servers.workers import messages_to, start_beat, start_worker
from tests.support.testapp.models import Product

from . import work

pytestmark = pytest.mark.django_db(transaction=True)

INCLUDE = ["tests.integration.servers.work"]


def names() -> set[str]:
    return set(Product.objects.values_list("name", flat=True))


class TestWorker:
    @pytest.mark.parametrize("pool", ["prefork", "solo"])
    def test_sees_what_the_test_committed(self, redis_broker, pool):
        """And the test sees what the worker committed."""
        with (
            messages_to(redis_broker),
            start_worker(redis_broker, pool=pool, include=INCLUDE),
        ):
            Product.objects.create(name="first", slug="first")
            work.count_products.delay()
            wait_until(lambda: "saw 1" in names(), "the worker has worked")
        assert names() == {"first", "saw 1"}

    def test_takes_messages_of_every_broker(self, broker):
        """Those that were sent before it started, too."""
        with messages_to(broker):
            work.count_products.delay()
            with start_worker(broker, pool="solo", include=INCLUDE):
                wait_until(lambda: names() == {"saw 0"}, "the worker has worked")

    def test_stopped_it_ends_by_itself(self, redis_broker):
        """With the processes of its pool."""
        with start_worker(redis_broker, include=INCLUDE) as worker:
            worker.stop()
            assert not worker.is_running()
            assert worker.processes() == set()
            assert "Warm shutdown" in worker.printed()

    def test_killed_nothing_of_it_is_left_and_it_starts_again(
        self, redis_broker, redis_url, settings
    ):
        """The processes of its pool go with it; its successor takes new messages."""
        settings.CACHES = {
            "default": {
                "BACKEND": "django.core.cache.backends.redis.RedisCache",
                "LOCATION": redis_url,
                "KEY_PREFIX": redis_broker.queue,
            }
        }
        with (
            messages_to(redis_broker),
            start_worker(redis_broker, concurrency=2, include=INCLUDE) as worker,
        ):
            work.hold.delay()
            wait_until(lambda: caches["default"].get("at-work"), "it works")
            assert len(worker.processes()) >= 3
            worker.kill()
            assert worker.processes() == set()
            worker.start()
            work.count_products.delay()
            wait_until(lambda: names() == {"saw 0"}, "the successor has worked")

    def test_frozen_it_takes_nothing_until_thawed(self, redis_broker):
        """As a machine that hangs for a while."""
        with (
            messages_to(redis_broker),
            start_worker(redis_broker, pool="solo", include=INCLUDE) as worker,
        ):
            worker.freeze()
            work.count_products.delay()
            wait_until(lambda: _state(worker.pid) == "T", "it is frozen")
            assert names() == set()
            worker.thaw()
            wait_until(lambda: names() == {"saw 0"}, "it goes on")


def _state(pid: int) -> str:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


class TestBeat:
    def test_sends_what_is_due(self, redis_broker):
        """To the same queue, from which a worker takes it."""
        task = "tests.integration.servers.work.count_products"
        schedule = {"count": {"task": task, "schedule": 0.2}}
        with (
            start_worker(redis_broker, pool="solo", include=INCLUDE),
            start_beat(redis_broker, schedule) as beat,
        ):
            wait_until(lambda: "saw 1" in names(), "it was sent twice")
            beat.kill()
            assert not beat.is_running()
