"""What two processes that only calculate can do: the most that any two could."""

from __future__ import annotations

from functools import partial
from multiprocessing import get_context

from .harness import Contender, Target, timed

_STEPS = 80_000_000  # about as long as the build of a million rows
_ONE, _TWO = "arithmetic, one process", "arithmetic, two processes"

#: What a note says of it.
NOTE = (
    "Not judged where two processes that only calculate are not 1.9 times as fast as "
    "one."
)

#: What must be reached, else two builders are not judged.
GIVEN = Target(_TWO, beside=_ONE, times=1 / 1.9)


def contenders() -> list[Contender]:
    """Return those of :data:`GIVEN`, for the rounds of the builders."""
    return [
        timed(_ONE, partial(_calculate, _STEPS)),
        timed(_TWO, _calculate_together),
    ]


def _calculate_together() -> None:
    with get_context("fork").Pool(1) as pool:
        other = pool.apply_async(_calculate, [_STEPS // 2])
        _calculate(_STEPS // 2)
        other.get()


def _calculate(steps: int) -> int:
    total = 0
    for step in range(steps):
        total += step % 7
    return total
