"""Progress of a build: a bar on a terminal, a line for each section elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

from django.core.management.base import OutputWrapper

from django_sitemaps_plus.building.build import Progress

try:
    from rich import progress as rich_progress
except ImportError:  # the extra `cli` is not installed
    rich_progress = None  # type: ignore[assignment]


@contextmanager
def show_progress(stdout: OutputWrapper, *, quiet: bool) -> Iterator[Progress | None]:
    """Give the callback that shows the progress of a build; None if it is quiet."""
    if quiet:
        yield None
    elif rich_progress is not None and stdout.isatty():
        with rich_progress.Progress() as bar:
            yield partial(_move_bar, bar, {})
    else:
        yield partial(_write_line, stdout)


def _move_bar(
    bar: Any, tasks: dict[str, Any], section: str, done: int, total: int
) -> None:
    if section not in tasks:
        tasks[section] = bar.add_task(section)
    bar.update(tasks[section], completed=done, total=total)


def _write_line(stdout: OutputWrapper, section: str, done: int, total: int) -> None:
    if done == total:
        stdout.write(f"{section}: {done} of {total} pages rendered")
