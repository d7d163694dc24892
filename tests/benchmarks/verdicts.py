"""What was to be reached, and whether it was."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import median

from .harness import Result, Target
from .units import amount, decimals


def verdicts(results: Sequence[Result]) -> Iterator[str]:
    """Yield the lines of a table with a row for each target; none without any."""
    rows = [_row(result, target) for result in results for target in result.targets]
    if rows:
        yield from ("", "### Reached", "")
        yield "| what | asked | measured | reached |"
        yield "|---|---|---|---|"
        yield from rows


def in_short(result: Result) -> Iterator[str]:
    """Yield lines that say what was measured, for who waits for the rest."""
    for figure in result.figures:
        yield f"{figure.name}: {amount(figure.median, result.unit)}"
    for target in result.targets:
        yield _row(result, target)


def _row(result: Result, target: Target) -> str:
    cells = (
        f"{result.title}: {target.name}",
        _asked(target, result.unit),
        _measured(result, target),
        _reached(result, target),
    )
    return f"| {' | '.join(cells)} |"


def _asked(target: Target, unit: str) -> str:
    if not target.beside:
        return f"at most {amount(target.plus, unit)}"
    if target.times < 1:
        return f"{1 / target.times:.3g} times faster than {target.beside}"
    times = f"{target.times:.3g} times " if target.times > 1 else ""
    plus = f", and {amount(target.plus, unit)}" if target.plus else ""
    return f"at most {times}{target.beside}{plus}"


def _measured(result: Result, target: Target) -> str:
    value = median(_values(result, target.name))
    if not target.beside:
        return amount(value, result.unit)
    if target.plus:
        allowed = amount(median(_allowed(result, target)), result.unit)
        return f"{amount(value, result.unit)}, allowed {allowed}"
    ratio = target.times * _share(result, target)
    if target.times < 1:
        return f"{1 / ratio:,.{decimals(1 / ratio)}f} times faster"
    return f"{ratio:,.2f} times"


def _reached(result: Result, target: Target) -> str:
    if target.given and _share(result, target.given) > 1:
        given = target.given
        return f"not judged: {given.name} {_measured(result, given)}"
    return "yes" if _share(result, target) <= 1 else "NO"


def _share(result: Result, target: Target) -> float:
    """Return the median, over the rounds, of what was taken of what is allowed."""
    taken = _values(result, target.name)
    allowed = _allowed(result, target)
    return median([a / b for a, b in zip(taken, allowed, strict=True)])


def _allowed(result: Result, target: Target) -> list[float]:
    if not target.beside:
        return [target.plus] * result.rounds
    others = _values(result, target.beside)
    return [target.times * other + target.plus for other in others]


def _values(result: Result, name: str) -> list[float]:
    return next(figure.values for figure in result.figures if figure.name == name)
