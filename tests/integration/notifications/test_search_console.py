"""Search Console against a server that verifies what a service account signs."""

from __future__ import annotations

import json

import pytest

from django_sitemaps_plus.exceptions import EngineRefused, RetryLater
from django_sitemaps_plus.models import Delivery
from django_sitemaps_plus.notifications import Secret
from django_sitemaps_plus.notifications.dispatch import notify_engines
from tests.support.batches import INDEX, SITE, make_batch
from tests.support.servers.service_account import make_service_account

from .tellers import make_search_console


def test_a_token_is_fetched_once_and_replaced_once_it_is_withdrawn(engine):
    """Its claim is signed by the account's key, which the server verifies."""
    console = make_search_console(engine)
    console.send(make_batch())
    console.send(make_batch("https://shop.example/sitemaps-2.xml"))
    assert len(engine.heard("token")) == 1
    assert len(engine.state.sitemaps) == 2
    engine.state.tokens.clear()
    with pytest.raises(RetryLater):
        console.send(make_batch())
    console.send(make_batch())


def test_another_key_gets_no_token(engine):
    console = make_search_console(engine)
    make_service_account(engine.state, 1)
    with pytest.raises(EngineRefused, match="no access token"):
        console.send(make_batch())


@pytest.mark.parametrize("fault", ["503", "lost_ack", "no_json"])
def test_a_faulty_token_endpoint_is_asked_again_later(engine, fault):
    console = make_search_console(engine)
    engine.faults.script(fault, kind="token")
    with pytest.raises(RetryLater):
        console.send(make_batch())
    console.send(make_batch())


def test_what_google_says_is_read_back(engine):
    console = make_search_console(engine)
    assert console.read_back(SITE, INDEX) is None
    console.send(make_batch())
    [record] = engine.state.sitemaps.values()
    record.update(errors="3", contents=[{"type": "web", "submitted": "7"}])
    assert console.read_back(SITE, INDEX) == {
        "errors": 3,
        "warnings": 0,
        "isPending": True,
        "submitted": {"web": 7},
    }


def test_an_index_is_submitted_once_a_day_at_most(engine, tell, clock):
    """However often it is to be told, and whatever holds for other engines."""
    key = Secret(json.dumps(make_service_account(engine.state)))
    endpoint = f"{engine.url}/webmasters/v3"
    backend = "django_sitemaps_plus.notifications.SearchConsole"
    options = {"service_account_key": key, "endpoint": endpoint}
    tell(console={"BACKEND": backend, "OPTIONS": options}, NOTIFY_INTERVAL_SECONDS=0)
    assert notify_engines().sent == 1
    for hours, expected in [(0, 0), (23, 0), (2, 1)]:
        clock.forward(hours=hours)
        feed = "https://example.com/sitemap.xml"
        Delivery.objects.want("default", "console", [feed], is_feed=True)
        assert notify_engines().sent == expected
