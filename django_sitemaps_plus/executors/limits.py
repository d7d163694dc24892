"""Time limits of workers, which are to be longer than our own."""

from __future__ import annotations

from collections.abc import Iterable, Iterator


def short_limits(
    limits: Iterable[object], seconds: object
) -> Iterator[tuple[str, str]]:
    """Yield that workers end what should end by itself, with its remedy.

    Args:
        limits: the time limits of tasks; what is no number is none.
        seconds: after which a task ends by itself; another check names a wrong type.
    """
    shortest = min([n for n in limits if isinstance(n, int | float)], default=None)
    if shortest is not None and isinstance(seconds, int) and shortest <= seconds:
        yield (
            f"Celery ends tasks after {shortest:g} s, and one that builds leaves after "
            f"{seconds} s, TASK_SECONDS.",
            "Set TASK_SECONDS to less, or longer limits for the tasks of "
            "django_sitemaps_plus in task_annotations.",
        )
