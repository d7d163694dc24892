"""The faults that servers of tests play: if they did not, other tests would not see."""

from __future__ import annotations

from typing import Any

import pytest
import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from tests.support.servers.programs import wait_until
from tests.support.servers.workers import messages_to, start_worker
from tests.support.testapp.models import Product

from . import work


def ask(port: int, value: str = "v", timeout: float = 0.25) -> Any:
    """Set a key and return what it is then."""
    with redis.Redis(
        port=port,
        socket_timeout=timeout,
        socket_connect_timeout=timeout,
        retry=Retry(NoBackoff(), 0),
        decode_responses=True,
    ) as client:
        client.set("key", value)
        return client.get("key")


class TestValkey:
    def test_killed_it_comes_back_empty_at_the_same_address(self, valkey):
        """As a broker without persistence does."""
        assert ask(valkey.port) == "v"
        valkey.kill()
        with pytest.raises(redis.ConnectionError):
            ask(valkey.port)
        valkey.restart()
        with redis.Redis.from_url(valkey.url) as client:
            assert client.get("key") is None

    def test_frozen_it_answers_nobody_until_thawed(self, valkey):
        """Connections are taken by the system all the same."""
        valkey.freeze()
        with pytest.raises(redis.TimeoutError):
            ask(valkey.port)
        valkey.thaw()
        assert ask(valkey.port, timeout=5) == "v"


class TestChaosProxy:
    def test_a_black_hole_takes_and_never_answers(self, chaos):
        assert ask(chaos.port, "v" * 1_000_000, timeout=5) == "v" * 1_000_000
        chaos.black_hole()
        with pytest.raises(redis.TimeoutError):
            ask(chaos.port)
        chaos.heal()
        assert ask(chaos.port, timeout=5) == "v"

    @pytest.mark.parametrize(
        ("how", "cause"), [("reset", "reset by peer"), ("refuse", "refused")]
    )
    def test_breaks_connections(self, chaos, how, cause):
        """New ones at once, and those that were open, until it heals."""
        with redis.Redis(
            port=chaos.port, socket_timeout=5, retry=Retry(NoBackoff(), 0)
        ) as client:
            client.ping()
            getattr(chaos, how)()
            with pytest.raises(redis.ConnectionError):
                client.ping()
        with pytest.raises(redis.ConnectionError, match=cause):
            ask(chaos.port)
        chaos.heal()
        assert ask(chaos.port, timeout=5) == "v"


@pytest.mark.django_db(transaction=True)
def test_of_a_worker_that_is_killed_nothing_is_left(broker):
    """The processes of its pool go with it; its successor takes new messages."""

    def names() -> set[str]:
        return set(Product.objects.values_list("name", flat=True))

    include = [work.__name__]
    with (
        messages_to(broker),
        start_worker(broker, concurrency=2, include=include) as worker,
    ):
        work.hold.delay()
        wait_until(lambda: names() == {"saw 0"}, "it works")
        assert len(worker.processes()) >= 3
        worker.kill()
        assert worker.processes() == set()
        worker.start()
        work.count_products.delay()
        wait_until(lambda: "saw 1" in names(), "the successor has worked")
