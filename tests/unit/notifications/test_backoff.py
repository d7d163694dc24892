"""Pauses and batches after failures: decisions without a database."""

import pytest

from django_sitemaps_plus.exceptions import RetryLater
from django_sitemaps_plus.notifications import backoff
from django_sitemaps_plus.notifications.http.answers import MAX_RETRY_AFTER


def seconds(failures, after=None):
    error = RetryLater("down", after)
    return backoff.pause(failures, error, 5).total_seconds()


def test_each_pause_is_twice_as_long_up_to_an_hour():
    """And up to a fifth longer, so that many hosts do not come at once."""
    least = [5, 10, 20, 40, *[3_600] * 3]
    for number, failures in enumerate([1, 2, 3, 4, 11, 20, 1_000]):
        assert least[number] <= seconds(failures) <= 1.2 * least[number]


@pytest.mark.parametrize(
    ("after", "expected"),
    [(900, 900), (99_999_999, MAX_RETRY_AFTER), ("soon", 5), (1, 5)],
)
def test_an_engine_may_ask_for_a_longer_one(after, expected):
    """Up to a day: a mistake of its own would silence us for ever."""
    assert expected <= seconds(1, after) <= max(expected, 6)


@pytest.mark.parametrize(
    ("batch", "sent", "after", "expected"),
    [(0, 1_000, None, 500), (500, 300, None, 150), (1, 1, None, 1), (0, 9, 60, 0)],
)
def test_a_batch_is_halved_after_a_failure(batch, sent, after, expected):
    """Unless the engine asks for patience: it is only busy."""
    error = RetryLater("down", after)
    assert backoff.batch_after_failure(batch, sent, error) == expected


@pytest.mark.parametrize(("batch", "expected"), [(0, 0), (1, 2), (30, 60), (60, 0)])
def test_a_batch_is_doubled_after_a_success(batch, expected):
    assert backoff.batch_after_success(batch, 100) == expected


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ((1, 1, 0, 0), True),
        ((2, 1, 0, 0), False),
        ((1, 0, 0, 0), False),
        ((1, 1, 1, 0), False),
        ((1, 1, 0, backoff.MAX_BLAMED), False),
    ],
)
def test_a_target_is_to_blame_that_fails_again_alone(given, expected):
    """Of an engine that is well; an outage is not blamed on many."""
    assert backoff.is_to_blame(*given) is expected
