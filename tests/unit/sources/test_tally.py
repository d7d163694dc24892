"""What became of the rows of a page."""

from __future__ import annotations

import logging

from django_sitemaps_plus.sources.lines import MAX_NAMED, RowName, Tally


class TestTally:
    def test_a_row_left_out_is_counted_and_named(self, caplog):
        """In the report and in the log, with words that a pipeline can match."""
        tally = Tally("blog")
        tally.leave_out(RowName("Post 5"), "location", ValueError("it has no location"))
        assert (tally.skipped, tally.dropped) == (1, 0)
        assert tally.problems == ["Post 5 left out: ValueError: it has no location"]
        record = caplog.records[0]
        assert record.getMessage() == f"section=blog {tally.problems[0]}"
        assert (record.action, record.section) == ("row_skipped", "blog")
        assert record.levelno == logging.WARNING

    def test_a_value_left_out_is_counted_apart(self, caplog):
        """Its row is listed all the same."""
        tally = Tally("blog")
        tally.leave_out(RowName("Post 5"), "lastmod", TypeError("5 is no date"))
        assert (tally.skipped, tally.dropped) == (0, 1)
        assert tally.problems == [
            "Post 5 listed without lastmod: TypeError: 5 is no date"
        ]
        assert caplog.records[0].action == "value_dropped"

    def test_only_the_first_problems_are_named(self, caplog):
        """A section of a million bad rows does not fill the log."""
        tally = Tally("blog")
        for number in range(MAX_NAMED + 5):
            tally.leave_out(RowName(f"Post {number}"), "location", ValueError("bad"))
            tally.leave_out(RowName(f"Post {number}"), "priority", ValueError("bad"))
        assert (tally.skipped, tally.dropped) == (MAX_NAMED + 5, MAX_NAMED + 5)
        assert len(tally.problems) == len(caplog.records) == MAX_NAMED

    def test_a_reason_is_short_text_as_it_is(self):
        """What would break the log is escaped, and no more."""
        tally = Tally("blog")
        tally.leave_out(
            RowName("\u4f60 5"),
            "location",
            ValueError("\ud800\u05d0\n\x1b" + "x" * 1_000),
        )
        [problem] = tally.problems
        assert problem.startswith(
            "\u4f60 5 left out: ValueError: \\ud800\u05d0\\n\\x1bxx"
        )
        assert len(problem) < 400
