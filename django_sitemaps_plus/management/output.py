"""Output: tables, the progress of a build, and each problem once."""

from __future__ import annotations

import logging
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from importlib.util import find_spec
from logging import StreamHandler
from shlex import quote
from typing import Any

from django.core.management.base import OutputWrapper
from django.template.defaultfilters import pluralize

from django_sitemaps_plus.building.report import SectionReport
from django_sitemaps_plus.building.state import Progress
from django_sitemaps_plus.diagnostics.site_problems import alike
from django_sitemaps_plus.diagnostics.words import age_of, span
from django_sitemaps_plus.sources import Tally

#: Subjects of one kind of problems that are named.
MAX_NAMES = 3

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


@contextmanager
def show_progress(stdout: OutputWrapper, *, quiet: bool) -> Iterator[Progress | None]:
    """Give the callback that shows the progress of a build; None if it is quiet."""
    if quiet:
        yield None
    elif stdout.isatty() and find_spec("rich"):  # the extra `cli`
        # Not at the top: its import takes longer than a build with nothing to do.
        from rich.progress import Progress as Bars

        with Bars() as bar:
            tasks: dict[str, Any] = {}

            def move(section: str, done: int, total: int) -> None:
                if section not in tasks:
                    tasks[section] = bar.add_task(section)
                bar.update(tasks[section], completed=done, total=total)

            yield move
    else:

        def write(section: str, done: int, total: int) -> None:
            if done == total:
                stdout.write(f"{section}: {done} of {total} pages rendered")

        yield write


def left_out(counted: SectionReport | Tally) -> str:
    """Return how many rows and values are left out; "" where none is."""
    if not counted.skipped and not counted.dropped:
        return ""
    words = pluralize(counted.dropped, "value or repetition,values or repetitions")
    return (
        f"{counted.entries:,} of {counted.skipped + counted.entries:,} entries listed, "
        f"{counted.dropped:,} {words} left out"
    )


def one_a_kind(problems: Iterable[str], *, by_subject: bool = False) -> list[str]:
    """Return a line of those that differ by numbers and quotes alone, counted.

    Words before a first colon are the subject. A kind names the first of its subjects,
    and commands have NAME in their place; or each subject has kinds of its own.
    """
    kinds: dict[tuple[str, str], dict[str, list[str]]] = {}
    for words in problems:
        subject, colon, said = words.partition(": ")
        if not colon:
            subject, said = "", words
        kind = subject if by_subject else "", alike(_unnamed(said, subject))
        kinds.setdefault(kind, {}).setdefault(subject, []).append(words)
    lines = []
    for alike_ones in kinds.values():
        [[first, *others], *_others] = alike_ones.values()
        numbers = {_numbers(it[0].partition(": ")[2]) for it in alike_ones.values()}
        if len(numbers) > 1:  # those of the first are not those of the others
            first += f" (more like it: {first_of([*alike_ones][1:])})"
        elif len(alike_ones) > 1:
            subject, _, said = first.partition(": ")
            first = f"{first_of([*alike_ones])}: {_unnamed(said, subject)}"
        elif others:
            first += f" ({len(others):,} more like it)"
        lines.append(first)
    return lines


def first_of(names: Sequence[str]) -> str:
    """Return the first of many names, and how many more there are."""
    more = len(names) - MAX_NAMES
    return ", ".join(names[:MAX_NAMES]) + (f" and {more:,} more" if more > 0 else "")


def _numbers(words: str) -> tuple[str, ...]:
    """Return the whole numbers in words, but for those in quotes and in addresses."""
    return tuple(
        re.findall(r"(?<!\S)\d[\d,]*(?=[.,;]?(?:\s|$))", re.sub("'.*?'", "", words))
    )


def _unnamed(words: str, subject: str) -> str:
    """Return words with NAME where a command or a URL has the name of a subject."""
    names = [re.escape(quote(it)) for it in (subject, subject.partition(" ")[2])]
    return re.sub(rf"(?<=[ -])({'|'.join(names)})(?=-\d|\.?$| --)", "NAME", words)


def table(columns: Mapping[str, str], rows: Iterable[Mapping[str, Any]]) -> str:
    """Return rows by columns, a head and a key each; all but the first to the right."""
    texts = [[_cell(row[key]) for key in columns.values()] for row in rows]
    widths = [max(map(len, column)) for column in zip(columns, *texts, strict=True)]
    lines = []
    for line in (columns, ["-" * width for width in widths], *texts):
        first, *others = zip(line, widths, strict=True)
        cells = [first[0].ljust(first[1]), *[text.rjust(n) for text, n in others]]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)


def _cell(value: Any) -> str:
    """Return a value as text: of a moment its age, of many things their number."""
    match value:
        case None:
            return "-"
        case float():
            return f"{value:.2f}"
        case int():
            return f"{value:,}"
        case datetime():
            return span(age_of(value))
        case list() | dict():
            return f"{len(value):,}"
    return str(value)
