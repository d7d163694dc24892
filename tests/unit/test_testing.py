"""What we give to the tests of others, who register sources for a while."""

from __future__ import annotations

import pytest
from django.utils.module_loading import import_string

from django_sitemaps_plus import ViewSource, registry
from django_sitemaps_plus.exceptions import (
    ConfigurationError,
    RetryLater,
)
from django_sitemaps_plus.notifications import Engine, Takes
from django_sitemaps_plus.testing import (
    RecordingEngine,
    temporary_registry,
    temporary_source,
)
from tests.support.batches import INDEX, make_batch


class One(ViewSource):
    """A source."""


class Other(ViewSource):
    """Another one."""


@pytest.fixture
def recorder() -> type[RecordingEngine]:
    """Give an engine that remembers nothing yet."""

    class Recorder(RecordingEngine):
        """Has a memory of its own."""

    return Recorder


class TestTemporarySource:
    def test_it_is_there_for_the_time_of_the_block(self, sections, monkeypatch):
        """Who listens to the registry hears of both ends."""
        heard = []
        listeners = [lambda: heard.append(list(sections))]
        monkeypatch.setattr(sections, "listeners", listeners)
        with temporary_source("pages", One) as found:
            assert found is registry
            assert type(registry.get("pages")) is One
            assert heard == [["pages"]]
        assert heard == [["pages"], []]

    def test_one_that_has_the_name_comes_back(self, sections):
        for name in ("a", "pages", "z"):
            sections.register(name, One)
        kept = sections.get("pages")
        with temporary_source("pages", Other):
            assert type(sections.get("pages")) is Other
            assert "a" in sections
        assert sections.get("pages") is kept
        assert list(sections) == ["a", "pages", "z"]

    def test_all_is_as_before_after_an_error(self, sections):
        sections.register("pages", One)
        with pytest.raises(ZeroDivisionError), temporary_source("more", One):
            raise ZeroDivisionError
        with pytest.raises(ConfigurationError), temporary_source("pages", object()):
            pass
        assert [type(source) for _, source in sections.items()] == [One]


def test_a_temporary_registry_is_empty_and_then_as_before(sections):
    sections.register("pages", One)
    with temporary_registry() as found:
        assert len(found) == 0
        found.register("blog", Other)
    assert list(sections) == ["pages"]


class TestRecordingEngine:
    def test_it_remembers_what_it_is_told(self, recorder):
        """Batches as they are, and all their targets in order, until it is cleared."""
        held = recorder.batches
        one, two = make_batch(INDEX, f"{INDEX}.gz"), make_batch(INDEX)
        recorder().send(one)
        recorder().send(two)
        assert recorder.batches == [one, two]
        assert recorder.told() == [INDEX, f"{INDEX}.gz", INDEX]
        recorder.clear()
        assert recorder.told() == []
        assert held is recorder.batches

    def test_it_fails_for_the_time_of_a_block(self, recorder):
        """And remembers nothing of what it did not accept."""
        with recorder.failing(RetryLater("down")), pytest.raises(RetryLater):
            recorder().send(make_batch())
        assert recorder.told() == []
        recorder().send(make_batch())
        assert recorder.told() == [INDEX]

    def test_a_subclass_has_a_memory_of_its_own(self, recorder):
        """So that a test may have two engines."""

        class Feeds(recorder):
            takes = Takes.FEEDS

        with recorder.failing(RetryLater("down")):
            Feeds().send(make_batch())
        assert Feeds.told() == [INDEX]
        assert recorder.told() == []

    def test_it_is_an_engine_without_options(self):
        path = "django_sitemaps_plus.testing.RecordingEngine"
        assert isinstance(import_string(path)(), Engine)
