"""Measuring: contenders take turns, round after round, and are compared within one."""

from __future__ import annotations

import gc
import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from statistics import median

from django.db import connection
from django.test.utils import CaptureQueriesContext

#: Yields the subjects of one file, for so many rows, and cleans up after them.
Setting = Callable[[int], Iterator["Subject"]]


@dataclass(frozen=True, slots=True)
class Contender:
    """One way of doing something."""

    name: str
    measure: Callable[[], float]


@dataclass(frozen=True, slots=True)
class Target:
    """A figure that a contender is to reach: at most ``times`` another's, and ``plus``.

    Attributes:
        name: the contender's.
        beside: the other contender's; ``""`` where ``plus`` alone is allowed.
        times: how often the other's figure.
        plus: what is allowed on top, in the unit of the subject.
        given: what must be reached in the same rounds, else nothing is judged.
    """

    name: str
    beside: str = ""
    times: float = 1.0
    plus: float = 0.0
    given: Target | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """One thing that can be done in several ways.

    Attributes:
        title: what is done.
        contenders: the ways; all are compared with the first.
        rounds: how often each has its turn.
        warm_ups: rounds before those, which fill caches and compile templates.
        unit: ``s``, ``MiB`` or what is counted; less is better.
        note: what a reader must know to judge the figures.
        targets: what is to be reached.
    """

    title: str
    contenders: Sequence[Contender]
    rounds: int = 5
    warm_ups: int = 1
    unit: str = "s"
    note: str = ""
    targets: Sequence[Target] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """What was measured of one contender.

    Attributes:
        name: the contender's.
        values: one a round.
        ratio: the median, over the rounds, of the first contender's figure divided by
            this one's; so more is better, and a machine that is slow for a while
            does not count.
    """

    name: str
    values: list[float]
    ratio: float

    @property
    def median(self) -> float:
        """The figure to quote."""
        return median(self.values)


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What was measured of one subject."""

    title: str
    unit: str
    rounds: int
    note: str
    figures: list[Figure] = field(default_factory=list)
    targets: list[Target] = field(default_factory=list)


def run(subject: Subject, rounds: int | None = None) -> Result:
    """Give each contender one turn in each round, after those that do not count."""
    rounds = rounds or subject.rounds
    for _ in range(subject.warm_ups):
        for contender in subject.contenders:
            contender.measure()
    measured = [
        [contender.measure() for contender in subject.contenders] for _ in range(rounds)
    ]
    return Result(
        title=subject.title,
        unit=subject.unit,
        rounds=rounds,
        note=subject.note,
        figures=list(_figures(subject, measured)),
        targets=list(subject.targets),
    )


def _figures(subject: Subject, measured: list[list[float]]) -> Iterator[Figure]:
    for position, contender in enumerate(subject.contenders):
        yield Figure(
            name=contender.name,
            values=[turns[position] for turns in measured],
            ratio=median([_ratio(turns[0], turns[position]) for turns in measured]),
        )


def _ratio(first: float, other: float) -> float:
    # A process may need no more memory than it had.
    return first / other if other else math.inf


def its_queries(
    title: str, name: str, action: Callable[[], object], *, most: int
) -> Subject:
    """Return the subject of how many queries of the database an action makes.

    Args:
        title: what is done.
        name: what the table calls the action.
        action: what is counted.
        most: how many it may make.
    """

    def count() -> float:
        with CaptureQueriesContext(connection) as queries:
            action()
        return len(queries)

    return Subject(
        title=f"{title}, its queries",
        unit="queries",
        rounds=1,
        contenders=[Contender(name, count)],
        targets=[Target(name, plus=most)],
    )


def timed(
    name: str,
    action: Callable[[], object],
    *,
    before: Callable[[], object] | None = None,
    times: int = 1,
) -> Contender:
    """Return a contender whose figure is the seconds that an action takes.

    Args:
        name: what the table calls it.
        action: what is measured.
        before: what has to be done before each turn, and is not measured.
        times: how often a turn does it; the figure is for once.
    """

    def measure() -> float:
        if before is not None:
            before()
        gc.collect()
        began = time.perf_counter()
        for _ in range(times):
            action()
        return (time.perf_counter() - began) / times

    return Contender(name, measure)
