"""The surroundings in which sitemaps are rendered."""

from __future__ import annotations

from datetime import UTC
from zoneinfo import ZoneInfo

import pytest
from django.urls import (
    get_script_prefix,
    get_urlconf,
    reverse,
    set_script_prefix,
    set_urlconf,
)
from django.utils import timezone, translation

from django_sitemaps_plus.conf import Site
from django_sitemaps_plus.sources.languages import surroundings

SITE = Site("default", "https://shop.example", "/app/")


def current() -> tuple[object, ...]:
    return (
        translation.get_language(),
        timezone.get_current_timezone(),
        get_urlconf(),
        get_script_prefix(),
    )


@pytest.fixture
def request_surroundings():
    """Set what middleware would have set."""
    before = get_script_prefix()
    set_urlconf("example_project.urls")
    set_script_prefix("/from-the-request/")
    with translation.override("fr"), timezone.override(ZoneInfo("Asia/Tokyo")):
        yield
    set_urlconf(None)
    set_script_prefix(before)


@pytest.mark.usefixtures("request_surroundings")
class TestRendering:
    def test_everything_comes_from_settings_and_site(self, settings):
        """Nothing of the request is left."""
        with surroundings(SITE):
            assert current() == ("en", UTC, settings.ROOT_URLCONF, "/app/")
            assert reverse("about") == "/app/about/"

    def test_everything_is_as_before_afterwards(self):
        """The request goes on with what it had."""
        before = current()
        with surroundings(SITE):
            pass
        assert current() == before
        assert before[0] == "fr"

    def test_everything_is_as_before_after_an_error(self):
        """The error passes through."""
        before = current()
        with pytest.raises(ZeroDivisionError), surroundings(SITE):
            raise ZeroDivisionError
        assert current() == before

    def test_the_language_is_that_of_the_settings(self, settings):
        """Whatever it is."""
        settings.LANGUAGE_CODE = "de"
        with surroundings(SITE):
            assert translation.get_language() == "de"
