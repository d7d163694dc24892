"""Tables in plain text."""

from __future__ import annotations

from collections.abc import Sequence


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return rows under a head: first column to the left, numbers to the right."""
    lines = [head, *rows]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    rule = ["-" * width for width in widths]
    return "\n".join([_line(line, widths) for line in (head, rule, *rows)])


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    first, *others = [
        cell.ljust(width) if number == 0 else cell.rjust(width)
        for number, (cell, width) in enumerate(zip(cells, widths, strict=True))
    ]
    return "  ".join([first, *others]).rstrip()
