"""Engines of the settings: which work, and what is known of those that do not."""

from __future__ import annotations

import pytest

from django_sitemaps_plus.exceptions import ConfigurationError
from django_sitemaps_plus.notifications import Takes
from django_sitemaps_plus.notifications.configuration import (
    broken_engines,
    engines_to_notify,
    get_engine,
    get_engines,
)

RECORDING = {"BACKEND": "django_sitemaps_plus.testing.RecordingEngine"}
PING = {"BACKEND": "django_sitemaps_plus.notifications.Ping"}
UNKNOWN = {"BACKEND": "no.such.Engine"}


@pytest.fixture
def configure(settings):
    """Give what sets ENGINES."""

    def configured(**engines):
        settings.SITEMAPS_PLUS = {"ENGINES": engines}

    return configured


def test_an_engine_that_cannot_be_made_keeps_back_no_other(configure):
    """What its class takes is known all the same."""
    configure(one=RECORDING, ping=PING)
    assert list(get_engines()) == ["one"]
    (broken,) = broken_engines()
    assert (broken.name, broken.takes, broken.follows_content) == (
        "ping",
        Takes.FEEDS,
        True,
    )
    assert [engine.name for engine in engines_to_notify()] == ["one", "ping"]
    with pytest.raises(ConfigurationError, match="'endpoint' of Ping"):
        get_engine("ping")


def test_an_unknown_class_keeps_back_all(configure):
    """It may take URLs or feeds, so what has changed waits."""
    configure(one=RECORDING, other=UNKNOWN)
    with pytest.raises(ConfigurationError, match=r"\['other'\]: No module named 'no'"):
        engines_to_notify()


def test_a_name_that_is_not_configured_lists_those_that_are(configure):
    configure(one=RECORDING, ping=PING)
    with pytest.raises(ConfigurationError, match=r"'two'\. ENGINES has: one, ping"):
        get_engine("two")


def test_engines_are_made_once_for_each_setting(configure):
    configure(one=RECORDING)
    engine = get_engine("one")
    assert get_engine("one") is engine
    configure(one=RECORDING)
    assert get_engine("one") is not engine
