"""W3C dates as sitemaps write them, and as databases return them."""

from __future__ import annotations

from datetime import UTC, date, datetime

#: Length of a date-time as we write it: ``2026-11-20T09:30:00+00:00``.
W3C_LENGTH = 25


def w3c(value: date) -> str:
    """Return a date, or an aware datetime in UTC, as W3C text.

    Fractions of a second are cut off: crawlers ignore them, and equal pages would
    differ.

    Raises:
        TypeError: the value is not a date.
        ValueError: a datetime without a time zone, or one that UTC cannot express.
    """
    if not isinstance(value, datetime):
        if not isinstance(value, date):
            raise TypeError(
                f"{value!r} is not a date; give a date or an aware datetime"
            )
        return value.isoformat()
    if value.utcoffset() is None:
        raise ValueError(f"{value!r} has no time zone; give an aware datetime")
    if value.tzinfo is UTC:  # the usual case, three times as fast
        return value.isoformat(timespec="seconds")
    try:
        moment = value.astimezone(UTC)
    except OverflowError as error:
        raise ValueError(f"{value!r} cannot be written in UTC") from error
    return moment.replace(microsecond=0).isoformat()


def check_w3c(text: str) -> str:
    """Return text if it is a date or date-time as :func:`w3c` writes it.

    Raises:
        ValueError: it is not, for example month 13 or the year 0000.
    """
    moment = datetime.fromisoformat(text)
    if w3c(moment.date() if len(text) == 10 else moment) != text:
        raise ValueError(f"{text!r} is not written as {w3c(moment)}; give a datetime")
    return text


def parse_w3c(text: str) -> datetime:
    """Return the moment of text from :func:`w3c`; a date is its midnight in UTC."""
    moment = datetime.fromisoformat(text)
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
