"""Tables in plain text."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from django_sitemaps_plus.maintenance.status import age_of


def table(columns: Mapping[str, str], rows: Iterable[Mapping[str, Any]]) -> str:
    """Return rows by columns, a head and a key each; all but the first to the right."""
    texts = [[_cell(row[key]) for key in columns.values()] for row in rows]
    widths = [max(map(len, column)) for column in zip(columns, *texts, strict=True)]
    rule = ["-" * width for width in widths]
    return "\n".join([_line(line, widths) for line in (list(columns), rule, *texts)])


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
            return f"{age_of(value):,.0f} s"
        case list() | dict():
            return f"{len(value):,}"
    return str(value)


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    first, *others = zip(cells, widths, strict=True)
    right = [cell.rjust(width) for cell, width in others]
    return "  ".join([first[0].ljust(first[1]), *right]).rstrip()
