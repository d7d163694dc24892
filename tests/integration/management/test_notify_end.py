"""``notify_search_engines``: what it says, how it ends, and what to do then."""

from __future__ import annotations

import re

import pytest
from django.core.management import CommandError

from django_sitemaps_plus.exceptions import BatchRejected, EngineRefused, RetryLater
from django_sitemaps_plus.models import Delivery, Recipient
from django_sitemaps_plus.testing import RecordingEngine

from .notifying import URL, FeedEngine, report_of, run, told

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("told_site"),
]


class TestEnd:
    def test_a_table_and_a_sum(self):
        """A line an engine."""
        lines = run(URL).splitlines()
        assert lines[0].split() == ["engine", "waiting", "rejected", "last", "told"]
        assert re.fullmatch(r"one +0 +0 +2\d{3}-\d\d-\d\d \d\d:\d\d:\d\d", lines[2])
        assert lines[-1] == "2 told in 2 requests."

    def test_verbosity_0_says_nothing(self):
        """For cron."""
        assert run(URL, verbosity=0) == ""
        assert told() == [URL]

    def test_json_is_all_that_is_printed(self):
        """With a part for each engine."""
        report = report_of(URL)
        assert (report["chosen"], report["sent"], report["requests"]) == (1, 2, 2)
        assert report["failures"] == []
        one, two = report["engines"]
        assert (one["engine"], one["waiting"], one["dead"]) == ("one", 0, 0)
        assert two["sent_at"]

    def test_an_engine_that_fails_ends_it_with_an_error(self):
        """What it was to be told waits, and is told again by itself."""
        with (
            RecordingEngine.failing(RetryLater("it is down")),
            pytest.raises(CommandError, match=r"one for example\.com: it is down"),
        ):
            run(URL)
        assert FeedEngine.told() == ["https://example.com/sitemap.xml"]
        with pytest.raises(CommandError, match="it is down"):
            run(URL)  # in its pause nobody asks it, and nothing is told
        assert Delivery.objects.waiting().count() == 1

    def test_a_parked_engine_ends_it_with_an_error(self):
        """Which says what to do; only where it was to be told."""
        with (
            RecordingEngine.failing(EngineRefused("the key is wrong")),
            pytest.raises(CommandError, match="the key is wrong"),
        ):
            run(URL)
        with pytest.raises(CommandError, match=r"the key is wrong.*--retry"):
            run(URL)
        run(URL, "--engine=two")

    def test_a_rejected_url_ends_it_with_an_error(self):
        """And does so until somebody acts."""
        with (
            RecordingEngine.failing(BatchRejected("no such URL")),
            pytest.raises(CommandError, match=r"rejected 1 targets: no such URL"),
        ):
            run(URL)
        with pytest.raises(CommandError, match=r"rejected 1 targets"):
            run()


class TestRetry:
    def test_a_parked_engine_is_told_again(self):
        """At once, though it may have failed before."""
        with (
            RecordingEngine.failing(EngineRefused("the key is wrong")),
            pytest.raises(CommandError),
        ):
            run(URL)
        run("--retry")
        assert told() == [URL]

    def test_what_was_rejected_is_tried_again(self):
        """It may be right by now."""
        with (
            RecordingEngine.failing(BatchRejected("no such URL")),
            pytest.raises(CommandError),
        ):
            run(URL)
        run("--retry")
        assert told() == [URL]

    def test_an_engine_in_a_pause_is_asked_at_once(self):
        """Whoever asks for it does not want to wait."""
        with (
            RecordingEngine.failing(RetryLater("busy", after=3_600)),
            pytest.raises(CommandError),
        ):
            run(URL)
        run("--retry")
        assert told() == [URL]

    def test_only_the_engine_that_is_named(self):
        """The other stays parked."""
        Recipient.objects.create(
            site="default", engine="two", host="example.com", parked="for good"
        )
        run("--retry", "--engine=one")
        assert Recipient.objects.get(engine="two").parked == "for good"
