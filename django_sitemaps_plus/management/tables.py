"""Tables in plain text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def table(head: Sequence[str], rows: Iterable[Sequence[str | int]]) -> str:
    """Return rows under a head: first column to the left, numbers to the right."""
    texts = [[f"{c:,}" if isinstance(c, int) else c for c in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(head, *texts, strict=True)]
    rule = ["-" * width for width in widths]
    return "\n".join([_line(line, widths) for line in (head, rule, *texts)])


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    first, *others = zip(cells, widths, strict=True)
    right = [cell.rjust(width) for cell, width in others]
    return "  ".join([first[0].ljust(first[1]), *right]).rstrip()
