"""Progress of a build: a bar on a terminal, a line for each section elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
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
        with _bar() as bar:
            yield _Bar(bar)
    else:
        yield _Lines(stdout)


def _bar() -> Any:
    return rich_progress.Progress(
        rich_progress.TextColumn("{task.description}"),
        rich_progress.BarColumn(),
        rich_progress.MofNCompleteColumn(),
        rich_progress.TextColumn("pages"),
        rich_progress.TimeElapsedColumn(),
    )


class _Bar:
    def __init__(self, bar: Any) -> None:
        self._bar = bar
        self._tasks: dict[str, Any] = {}

    def __call__(self, section: str, done: int, total: int) -> None:
        if section not in self._tasks:
            self._tasks[section] = self._bar.add_task(section)
        self._bar.update(self._tasks[section], completed=done, total=total)


class _Lines:
    def __init__(self, stdout: OutputWrapper) -> None:
        self._stdout = stdout

    def __call__(self, section: str, done: int, total: int) -> None:
        if done == total:
            self._stdout.write(f"{section}: {done} of {total} pages rendered")
