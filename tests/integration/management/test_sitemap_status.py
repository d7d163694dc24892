"""``sitemap_status``: how the engines are, and where one needs a person."""

from __future__ import annotations

import io
import json
from datetime import timedelta
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from django_sitemaps_plus.models import Delivery, EngineHost
from django_sitemaps_plus.models.deliveries import hash_target

from .notifying import FeedEngine

pytestmark = pytest.mark.django_db

HEAD = ["engine", "waiting", "rejected", "parked", "failing", "oldest"]


@pytest.fixture(autouse=True)
def engines(settings: Any, sections: Any) -> None:
    """Have one engine, which is not told of anything: this is a test."""
    settings.SITEMAPS_PLUS = {
        **settings.SITEMAPS_PLUS,
        "ENGINES": {"one": {"BACKEND": "django_sitemaps_plus.testing.RecordingEngine"}},
    }


def deliver(path: str, engine: str = "one", **fields: Any) -> None:
    """Add a URL that an engine is to be told of."""
    url = f"https://example.com/{path}"
    usual = {"site": "default", "host": "example.com", "wanted": 1}
    Delivery.objects.create(
        **{**usual, **fields}, engine=engine, target=url, target_hash=hash_target(url)
    )


def know(engine: str = "one", **fields: Any) -> None:
    """Add what is known of an engine."""
    EngineHost.objects.create(
        site="default", engine=engine, host="example.com", **fields
    )


def lines() -> list[list[str]]:
    """Return the words of the command's lines about engines."""
    out = io.StringIO()
    call_command("sitemap_status", stdout=out)
    found = [line.split() for line in out.getvalue().splitlines()]
    return found[found.index(HEAD) + 2 :]


def test_an_engine_that_was_told_nothing_yet():
    """It is shown since the settings name it."""
    assert lines() == [["one", "0", "0", "0", "0", "-"]]


def test_without_engines_there_is_no_table(settings):
    """Most projects have none."""
    settings.SITEMAPS_PLUS = {"BASE_URL": "https://example.com"}
    out = io.StringIO()
    call_command("sitemap_status", stdout=out)
    assert "engine" not in out.getvalue()


def test_what_waits_is_counted():
    """And how long the oldest of it has waited; what was told is none of it."""
    now = timezone.now()
    deliver("a", changed_at=now - timedelta(hours=1))
    deliver("b", changed_at=now)
    deliver("c", sent=1, changed_at=now - timedelta(days=1))
    ((name, waiting, *_, age, unit),) = lines()
    assert (name, waiting, unit) == ("one", "2", "s")
    assert 3_600 <= int(age.replace(",", "")) < 7_200


def test_an_engine_that_fails_needs_nobody():
    """It is tried again by itself, and shown."""
    deliver("a")
    know(failures=3, error="it is down")
    assert lines()[0][:5] == ["one", "1", "0", "0", "1"]


def test_a_parked_engine_needs_a_person():
    """The command fails and says why, and what to do."""
    know(parked_reason="the key is wrong")
    with pytest.raises(CommandError, match=r"the key is wrong.*--retry"):
        lines()


def test_a_rejected_target_needs_a_person():
    """The command fails and says what the engine said."""
    deliver("a", dead_since=timezone.now(), error="no such URL")
    with pytest.raises(CommandError, match=r"rejected 1 targets: no such URL.*--retry"):
        lines()


def test_an_engine_of_the_past_is_shown():
    """As long as it has rows."""
    deliver("a", engine="old")
    assert [line[:2] for line in lines()] == [["old", "1"], ["one", "0"]]


def test_what_an_engine_says_of_a_feed_is_shown(settings):
    """Beside our own numbers; not of a feed that has gone."""
    one = {"BACKEND": f"{FeedEngine.__module__}.FeedEngine"}
    settings.SITEMAPS_PLUS = {**settings.SITEMAPS_PLUS, "ENGINES": {"one": one}}
    deliver("sitemap.xml", is_feed=True, sent=1, feedback={"errors": 3})
    deliver("gone.xml", is_feed=True, wanted=0, feedback={"errors": 5})
    [_, said] = lines()
    line = 'one says of https://example.com/sitemap.xml: {"errors": 3}'
    assert said == line.split()


def test_another_site_is_none_of_ours():
    """Each site has deliveries of its own."""
    deliver("a", site="other")
    assert lines()[0][:2] == ["one", "0"]


def test_json_has_the_sections_alone():
    """As before there were engines, of which notify_search_engines has all numbers."""
    out = io.StringIO()
    call_command("sitemap_status", "--json", stdout=out)
    assert json.loads(out.getvalue()) == []
