"""Engines that the settings name: what becomes of their options."""

from __future__ import annotations

import copy

import pytest

from django_sitemaps_plus.notifications import Secret
from django_sitemaps_plus.notifications.configuration import (
    get_engines,
    hide_credentials,
)
from django_sitemaps_plus.testing import RecordingEngine

OURS = "django_sitemaps_plus.notifications.SearchConsole"
TEXT = "name:c4nary"


class PasswordEngine(RecordingEngine):
    """One of a project, which takes a name and a password as one string."""

    def __init__(self, *, credentials: str) -> None:
        self.user, self.password = credentials.split(":")


@pytest.fixture
def configure(settings):
    """Give what starts the app with one engine, and returns its options."""

    def configured(backend):
        options = {"credentials": TEXT}
        engine = {"BACKEND": backend, "OPTIONS": options}
        settings.SITEMAPS_PLUS = {"ENGINES": {"one": engine}}
        hide_credentials()
        return options

    return configured


class TestCredentials:
    """What Django would show on its debug page."""

    def test_those_of_an_engine_of_ours_are_hidden(self, configure):
        """It can make something of a secret."""
        assert configure(OURS) == {"credentials": Secret(TEXT)}

    @pytest.mark.parametrize("backend", ["shop.engines.Ours", "", None, 7])
    def test_those_of_any_other_engine_stay_as_they_are(self, configure, backend):
        """It may use them as the string that they are."""
        assert configure(backend) == {"credentials": TEXT}

    def test_an_engine_of_a_project_is_given_its_own(self, configure):
        """Under the name that ours has too."""
        configure(f"{__name__}.{PasswordEngine.__qualname__}")
        engine = get_engines()["one"]
        assert (engine.user, engine.password) == ("name", "c4nary")

    def test_settings_with_hidden_ones_can_be_copied(self, configure, settings):
        """As tests do, to change them."""
        configure(OURS)
        assert copy.deepcopy(settings.SITEMAPS_PLUS) == settings.SITEMAPS_PLUS
