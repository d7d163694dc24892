"""What messages hold, and what becomes of a task whose broker is gone."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from django.db import connections
from django.utils import timezone

from django_sitemaps_plus import tasks
from django_sitemaps_plus.executors.base import get_executor
from django_sitemaps_plus.models import Page
from tests.reliability.tools.published import published_urls
from tests.support.servers.programs import HOST, wait_until
from tests.support.servers.running import take, waiting
from tests.support.servers.workers import Broker, messages_to
from tests.support.shop import make_products

from .sources import ProductSource

pytestmark = pytest.mark.django_db(transaction=True)

HANG = 30


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
    celery, published, settings, chaos, caplog
):
    """Where the broker takes connections and never answers; it builds all by itself."""
    settings.SITEMAPS_PLUS = {**settings.SITEMAPS_PLUS, "MAX_BUILDERS": 3}
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
