"""The broker and cache that tests start, and the proxy before it."""

from __future__ import annotations

import time
from typing import Any

import pytest
import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from tests.support.servers.valkey import start_valkey


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

    def test_options_reach_it(self):
        """With an append-only file it has its keys after a kill."""
        with start_valkey(None, "--appendonly", "yes", "--appendfsync", "always") as it:
            ask(it.port)
            it.restart()
            with redis.Redis.from_url(it.url) as client:
                assert client.get("key") == b"v"

    def test_frozen_it_answers_nobody_until_thawed(self, valkey):
        """Connections are taken by the system all the same."""
        valkey.freeze()
        with pytest.raises(redis.TimeoutError):
            ask(valkey.port)
        valkey.thaw()
        assert ask(valkey.port, timeout=5) == "v"

    def test_databases_are_apart(self, valkey):
        """A cache may be cleared beside a broker."""
        with (
            redis.Redis.from_url(valkey.url_of(0)) as broker,
            redis.Redis.from_url(valkey.url_of(1)) as cache,
        ):
            broker.set("message", "x")
            cache.flushdb()
            assert broker.get("message") == b"x"


class TestChaosProxy:
    def test_passes_everything_on(self, chaos):
        """Bytes go there and back whole."""
        assert ask(chaos.port, "v" * 1_000_000, timeout=5) == "v" * 1_000_000
        assert chaos.accepted == 1

    def test_delays(self, chaos):
        """Each piece, in both directions."""
        chaos.delay(0.05)
        begun = time.monotonic()
        ask(chaos.port, timeout=5)
        assert time.monotonic() - begun >= 0.2

    def test_a_black_hole_takes_and_never_answers(self, chaos):
        """Only a timeout ends the wait."""
        chaos.black_hole()
        with pytest.raises(redis.TimeoutError):
            ask(chaos.port)

    @pytest.mark.parametrize(
        ("how", "cause"), [("reset", "reset by peer"), ("refuse", "refused")]
    )
    def test_breaks_connections(self, chaos, how, cause):
        """New ones at once, and those that were open."""
        with redis.Redis(
            port=chaos.port, socket_timeout=5, retry=Retry(NoBackoff(), 0)
        ) as client:
            client.ping()
            getattr(chaos, how)()
            with pytest.raises(redis.ConnectionError):
                client.ping()
        with pytest.raises(redis.ConnectionError, match=cause):
            ask(chaos.port)

    def test_cuts_after_so_many_bytes(self, chaos):
        """The rest is lost, on the way of a value that is longer."""
        chaos.cut_after(400)
        with pytest.raises(redis.ConnectionError):
            ask(chaos.port, "v" * 1_000)

    @pytest.mark.parametrize(
        "how", ["black_hole", "reset", "refuse", "cut_after", "delay"]
    )
    def test_heals(self, chaos, how):
        """At the same address, whatever was the matter."""
        ask(chaos.port)
        getattr(chaos, how)(*([1] if how in ("cut_after", "delay") else []))
        chaos.heal()
        assert ask(chaos.port, timeout=5) == "v"
