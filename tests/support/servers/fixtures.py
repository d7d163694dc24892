"""Fixtures that give real servers; tests/conftest.py hands them to every test."""

import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from tests.support.configuring import configure

from .chaos import ChaosProxy, start_chaos
from .engine import LocalEngine, start_engine
from .s3 import S3, start_moto, start_seaweedfs
from .valkey import Valkey, start_valkey
from .workers import Broker, messages_to


@pytest.fixture
def valkey() -> Iterator[Valkey]:
    with start_valkey() as server:
        yield server


@pytest.fixture
def chaos(valkey: Valkey) -> Iterator[ChaosProxy]:
    with start_chaos(valkey.port) as proxy:
        yield proxy


@pytest.fixture(scope="session")
def redis_url() -> Iterator[str]:
    """Give the address of a server that all tests share, TEST_REDIS_URL where set."""
    if "TEST_REDIS_URL" in os.environ:
        yield os.environ["TEST_REDIS_URL"]
        return
    with start_valkey() as server:
        yield server.url


@pytest.fixture
def redis_broker(redis_url: str) -> Broker:
    """Give a queue on the shared server."""
    return Broker(redis_url)


@pytest.fixture
def amqp_broker() -> Iterator[Broker]:
    """Give a queue on RabbitMQ, which is no more after the test."""
    if "TEST_AMQP_URL" not in os.environ:
        pytest.skip("TEST_AMQP_URL names no RabbitMQ")
    from kombu import Connection

    broker = Broker(os.environ["TEST_AMQP_URL"])
    yield broker
    # Celery makes an exchange of the same name.
    with Connection(broker.url) as connection, connection.channel() as channel:
        channel.queue_delete(broker.queue)
        channel.exchange_delete(broker.queue)


@pytest.fixture(params=["redis", "amqp"])
def broker(request: pytest.FixtureRequest) -> Broker:
    """Give a queue on each kind of broker in turn."""
    found: Broker = request.getfixturevalue(f"{request.param}_broker")
    return found


@pytest.fixture(scope="session")
def moto() -> Iterator[S3]:
    with start_moto() as server:
        yield server


@pytest.fixture(scope="session")
def seaweedfs() -> Iterator[S3]:
    """Give a real S3 server, which all tests share: start your own to kill it."""
    with start_seaweedfs() as server:
        yield server


@contextmanager
def celery_on(broker: Broker, cache_url: str, settings: Any) -> Iterator[Broker]:
    """Let changes wake workers, and all processes of the test have one cache."""

    settings.CACHES = {
        "default": {
            "BACKEND": "django.core.cache.backends.redis.RedisCache",
            "LOCATION": cache_url,
            "KEY_PREFIX": f"tests-{uuid.uuid4()}",
            "OPTIONS": {"socket_timeout": 2, "socket_connect_timeout": 2},
        }
    }
    configure(
        settings,
        EXECUTOR="django_sitemaps_plus.tasks.CeleryExecutor",
        WAKE_SECONDS=1,
        LEASE_SECONDS=2,
        AUDIT_INTERVAL_SECONDS=10**6,
    )
    with messages_to(broker):
        yield broker


@pytest.fixture
def celery(redis_broker: Broker, redis_url: str, settings: Any) -> Iterator[Broker]:
    """Let changes wake workers."""
    with celery_on(redis_broker, redis_url, settings) as broker:
        yield broker


@pytest.fixture
def any_celery(broker: Broker, redis_url: str, settings: Any) -> Iterator[Broker]:
    """Let changes wake workers, of each kind of broker in turn."""
    with celery_on(broker, redis_url, settings) as found:
        yield found


@pytest.fixture
def engine() -> Iterator[LocalEngine]:
    """Give search engines on loopback that check what they are told."""
    with start_engine() as engine:
        yield engine
