"""Consoles, which show each problem once: in the report of a command, or in the log."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from logging import StreamHandler

#: Actions of the records that the report of a build repeats.
_REPORTED = {
    *("row_skipped", "value_dropped", "row_repeated"),
    *("page_failed", "section_failed", "section_missing", "relay_failed"),
}


@contextmanager
def shown_once(*, is_reported: bool) -> Iterator[None]:
    """Keep from consoles what a report repeats; files and other handlers get it all."""
    loggers = [logging.getLogger(name) for name in ("django_sitemaps_plus", None)]
    handlers = [logging.lastResort, *[it for one in loggers for it in one.handlers]]
    consoles = [it for it in handlers if isinstance(it, StreamHandler) and is_reported]
    consoles = [it for it in consoles if it.stream in (sys.stdout, sys.stderr)]
    for handler in consoles:
        handler.addFilter(_is_news)
    try:
        yield
    finally:
        for handler in consoles:
            handler.removeFilter(_is_news)


def _is_news(record: logging.LogRecord) -> bool:
    return getattr(record, "action", "") not in _REPORTED
