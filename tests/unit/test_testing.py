"""What we give to the tests of others, who register sources for a while."""

from __future__ import annotations

import pytest

from django_sitemaps_plus import ViewSource, registry
from django_sitemaps_plus.exceptions import ConfigurationError
from django_sitemaps_plus.testing import temporary_registry, temporary_source


class One(ViewSource):
    """A source."""


class Other(ViewSource):
    """Another one."""


class TestTemporarySource:
    def test_it_is_there_for_the_time_of_the_block(self, sections):
        """And gone afterwards."""
        with temporary_source("pages", One) as found:
            assert found is registry
            assert type(registry.get("pages")) is One
        assert "pages" not in sections

    def test_one_that_has_the_name_comes_back(self, sections):
        """In its place among the others."""
        for name in ("a", "pages", "z"):
            sections.register(name, One)
        kept = sections.get("pages")
        with temporary_source("pages", Other):
            assert type(sections.get("pages")) is Other
            assert "a" in sections
        assert sections.get("pages") is kept
        assert list(sections) == ["a", "pages", "z"]

    def test_it_goes_after_an_error_too(self, sections):
        """The error passes through."""
        with pytest.raises(ZeroDivisionError), temporary_source("pages", One):
            raise ZeroDivisionError
        assert len(sections) == 0

    def test_a_bad_source_changes_nothing(self, sections):
        """The one that has the name stays."""
        sections.register("pages", One)
        with pytest.raises(ConfigurationError), temporary_source("pages", object()):
            pass
        assert type(sections.get("pages")) is One


class TestTemporaryRegistry:
    def test_it_is_empty_and_then_as_before(self, sections):
        """Whatever was registered in it."""
        sections.register("pages", One)
        with temporary_registry() as found:
            assert len(found) == 0
            found.register("blog", Other)
        assert list(sections) == ["pages"]

    def test_all_is_as_before_after_an_error(self, sections):
        """The error passes through."""
        sections.register("pages", One)
        with pytest.raises(ZeroDivisionError), temporary_registry():
            raise ZeroDivisionError
        assert list(sections) == ["pages"]
