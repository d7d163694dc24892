"""The places where a builder may be stopped, or where others may come between."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pkgutil import resolve_name
from typing import Any
from unittest import mock

from django_sitemaps_plus.building.build import refresh
from django_sitemaps_plus.building.options import Options
from django_sitemaps_plus.building.store import build_page
from tests.support.testapp.models import Product

from .shop import STEP, add, add_quietly, rename

Reached = Callable[[], None]

#: Where each is: a function of ours, and whether it is reached before or after it.
_PLACES = {
    "claim": ("loop.claim", "after"),
    "rendered": ("page.store_page", "before"),
    "stored": ("loop.build_page", "after"),
    "before flip": ("loop.flip", "before"),
    "inside merge": ("reshape.build_page", "after"),
    "index": ("loop.build_index_page", "after"),
}

#: All of them, in the order in which a build meets them.
CHECKPOINTS = (
    "claim",
    "rows read",
    "rendered",
    "stored",
    "before flip",
    "inside split",
    "inside merge",
    "index",
)


@contextmanager
def checkpoint(name: str, reached: Reached) -> Iterator[None]:
    """Call something the first time that a builder gets to a checkpoint.

    A claim that found nothing, and a flip of nothing, do not count.
    """
    once = _once(reached)
    if name == "rows read":
        place, wrapper = "page._within", _after_first(once)
    elif name == "inside split":
        place, wrapper = "reshape._split_at", _after_pieces(once)
    else:
        place, side = _PLACES[name]
        wrapper = _before(once) if side == "before" else _after(once)
    target = f"django_sitemaps_plus.building.{place}"
    with mock.patch(target, wrapper(resolve_name(target))):
        yield


def _once(reached: Reached) -> Reached:
    met: list[bool] = []

    def once() -> None:
        if not met:
            met.append(True)
            reached()

    return once


def _before(reached: Reached) -> Callable[[Any], Any]:
    def wrapper(real: Any) -> Any:
        def call(*args: Any, **kwargs: Any) -> Any:
            if args[0]:
                reached()
            return real(*args, **kwargs)

        return call

    return wrapper


def _after(reached: Reached) -> Callable[[Any], Any]:
    def wrapper(real: Any) -> Any:
        def call(*args: Any, **kwargs: Any) -> Any:
            result = real(*args, **kwargs)
            if result:
                reached()
            return result

        return call

    return wrapper


def _after_pieces(reached: Reached) -> Callable[[Any], Any]:
    """Reach it when the last piece is built, and nothing is flipped yet."""

    def wrapper(real: Any) -> Any:
        def call(page: Any, ranges: Any, *others: Any) -> Any:
            pieces: list[Any] = []

            def build(*args: Any) -> Any:
                pieces.append(build_page(*args))
                if len(pieces) == len(ranges):
                    reached()
                return pieces[-1]

            with mock.patch(
                "django_sitemaps_plus.building.plan.split.build_page", build
            ):
                return real(page, ranges, *others)

        return call

    return wrapper


def _after_first(reached: Reached) -> Callable[[Any], Any]:
    def wrapper(real: Any) -> Any:
        def call(*args: Any, **kwargs: Any) -> Iterator[str]:
            for chunk in real(*args, **kwargs):
                reached()
                yield chunk

        return call

    return wrapper


def reset() -> None:
    """Have fifty products on five pages, published."""
    Product.objects.all().delete()
    add_quietly(range(0, 50 * STEP, STEP))
    refresh((), Options(full=True, replan=True, allow_shrink=True))


def provoke(name: str, number: int) -> None:
    """Change rows so that a build gets to a checkpoint."""
    if name == "inside split":
        add(range(10, 90, 4), f"split-{number}")
    elif name == "inside merge":
        Product.objects.filter(pk__gt=STEP, pk__lt=18 * STEP).delete()
    else:
        rename([0], f"edit-{number}")
