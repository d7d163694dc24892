"""The protocol's numbers, and the error that names one."""

from __future__ import annotations

import pickle

from django_sitemaps_plus.core import limits
from django_sitemaps_plus.core.limits import LimitExceededError


class TestNumbers:
    def test_they_are_those_of_the_protocol(self):
        """sitemaps.org and Google's reference set them; none is ours to change."""
        assert limits.MAX_ENTRIES == 50_000
        assert limits.MAX_BYTES == 50 * 1024 * 1024
        assert limits.MAX_URL_LENGTH == 2_047
        assert limits.MAX_IMAGES == 1_000
        assert limits.MAX_VIDEO_TAGS == 32


class TestLimitExceededError:
    def test_it_says_how_many_of_what(self):
        """The message is for a person, the attributes are for code."""
        error = LimitExceededError(50_000, "entries")
        assert str(error) == "more than 50,000 entries in one file"
        assert (error.limit, error.unit) == (50_000, "entries")

    def test_it_is_a_value_error(self):
        """Who knows nothing of us can catch it."""
        assert issubclass(LimitExceededError, ValueError)

    def test_it_crosses_to_another_process(self):
        """A worker's error reaches the command whole."""
        error = pickle.loads(pickle.dumps(LimitExceededError(7, "bytes")))  # noqa: S301
        assert (error.limit, error.unit) == (7, "bytes")
        assert str(error) == "more than 7 bytes in one file"
