"""Shows how far a long command has come: a bar on a terminal, plain lines elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec

from django.core.management.base import OutputWrapper

Advance = Callable[[int], None]


@contextmanager
def show_progress(label: str, total: int, stdout: OutputWrapper) -> Iterator[Advance]:
    """Give a function to be called with the number of items just done.

    The bar needs rich, which is optional.
    """
    if stdout.isatty() and find_spec("rich"):
        with _show_bar(label, total) as advance:
            yield advance
    else:
        yield _print_lines(label, total, stdout)


@contextmanager
def _show_bar(label: str, total: int) -> Iterator[Advance]:
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns) as progress:
        task = progress.add_task(label, total=total)
        yield lambda count: progress.advance(task, count)


def _print_lines(label: str, total: int, stdout: OutputWrapper) -> Advance:
    """Return a function that prints a line for each tenth of the total."""
    done = 0

    def advance(count: int) -> None:
        nonlocal done
        tenths_before, done = done * 10 // total, done + count
        if done * 10 // total > tenths_before:
            stdout.write(f"{label}: {done:,} of {total:,}")

    return advance
