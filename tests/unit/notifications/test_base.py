"""What an engine is where it says nothing else."""

from __future__ import annotations

from django_sitemaps_plus.notifications import Batch, Engine
from tests.support.batches import INDEX, SITE


class Silent(Engine):
    """An engine that only sends."""

    def send(self, batch: Batch) -> None:
        """Tell nobody."""


class TestDefaults:
    def test_its_feeds_are_the_indexes_of_the_site(self):
        """All of them."""
        assert Silent().feeds(SITE, [INDEX]) == [INDEX]

    def test_it_needs_no_files_and_reads_nothing_back(self):
        """Most engines have neither."""
        assert Silent().files(SITE) == {}
        assert Silent().read_back(SITE, INDEX) is None

    def test_it_shows_its_name_alone(self):
        """Attributes may be secrets."""
        engine = Silent()
        engine.name = "ours"
        assert repr(engine) == "<Silent 'ours'>"
