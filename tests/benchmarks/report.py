"""The figures as a table, for people."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from .harness import Figure, Result
from .units import amount, decimals
from .verdicts import verdicts


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """What was measured on one database."""

    database: str
    machine: dict[str, str]
    results: list[Result]


def as_markdown(runs: list[Run], title: str, now: datetime) -> str:
    """Return the whole as one Markdown document."""
    return "\n".join(_document(runs, title, now)) + "\n"


def _document(runs: list[Run], title: str, now: datetime) -> Iterator[str]:
    yield f"# {title}"
    yield ""
    yield f"{now:%Y-%m-%d %H:%M} UTC."
    yield "Figures are medians of rounds in which the contenders took turns."
    yield "A comparison is with the first line of its table, within one round."
    yield ""
    for name, value in runs[0].machine.items():
        yield f"- {name}: {value}"
    for run in runs:
        yield f"- database: {run.database}"
    for run in runs:
        yield from ("", f"## {run.database}")
        yield from verdicts(run.results)
        for result in run.results:
            yield from _table(result)


def _table(result: Result) -> Iterator[str]:
    yield from ("", f"### {result.title}", "")
    if result.note:
        yield from (result.note, "")
    yield f"| {result.rounds} rounds | median | from, to | compared |"
    yield "|---|---:|---:|---:|"
    for position, figure in enumerate(result.figures):
        low, high = min(figure.values), max(figure.values)
        cells = (
            figure.name,
            amount(figure.median, result.unit),
            f"{amount(low, result.unit)}, {amount(high, result.unit)}",
            _comparison(figure, result.unit) if position else "",
        )
        yield f"| {' | '.join(cells)} |"


def _comparison(figure: Figure, unit: str) -> str:
    ratio = figure.ratio
    less, more = ("faster", "as long") if unit == "s" else ("less", "as much")
    if ratio >= 1:
        return f"{ratio:,.{decimals(ratio)}f} times {less}"
    return f"{1 / ratio:,.2f} times {more}"
