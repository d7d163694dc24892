"""What we give to the tests of others, who register sources for a while."""

import pytest

from django_sitemaps_plus import ViewSource, registry
from django_sitemaps_plus.exceptions import ConfigurationError
from django_sitemaps_plus.testing import RecordingEngine, temporary_source
from tests.support.batches import INDEX, make_batch


class One(ViewSource):
    pass


class Other(ViewSource):
    pass


class TestTemporarySource:
    def test_it_is_there_for_the_time_of_the_block(self, sections, monkeypatch):
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


def test_an_engine_that_is_cleared_keeps_the_list_that_a_test_holds():
    engine = type("Recorder", (RecordingEngine,), {})
    held, batch = engine.batches, make_batch(INDEX, f"{INDEX}.gz")
    engine().send(batch)
    assert held == [batch]
    assert engine.told() == [INDEX, f"{INDEX}.gz"]
    engine.clear()
    assert held == []
    assert held is engine.batches
