"""The places where a builder may be stopped, or where others may come between."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from inspect import unwrap
from typing import Any
from unittest import mock

from django_sitemaps_plus import rendering
from django_sitemaps_plus.building import flip, index, store
from django_sitemaps_plus.building.build import build
from django_sitemaps_plus.building.plan import merge, split
from django_sitemaps_plus.models import PageQuerySet
from tests.support.testapp.models import Product

from .shop import STEP, add, add_quietly, rename

Reached = Callable[[], None]

#: Where each is: a function of ours, and whether it is reached before or after it.
_PLACES = {
    "rendered": (store.store_page, "before"),
    "stored": (store.build_page, "after"),
    "before flip": (flip.flip, "before"),
    "index": (index.build_index_page, "after"),
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
    with ExitStack() as stack:
        if name == "rows read":
            _replace(stack, rendering._within, _after_first(once))
        elif name == "inside split":
            _replace(stack, split._split_at, _after_pieces(once))
        elif name == "claim":
            claim = _after(once)(PageQuerySet.claim)
            stack.enter_context(mock.patch.object(PageQuerySet, "claim", claim))
        elif name == "inside merge":
            built = _after(once)(store.build_page)
            stack.enter_context(mock.patch.object(merge, "build_page", built))
        else:
            function, side = _PLACES[name]
            wrapper = _before(once) if side == "before" else _after(once)
            _replace(stack, function, wrapper)
        yield


def _replace(stack: ExitStack, function: Any, wrapper: Callable[[Any], Any]) -> None:
    """Wrap a function, or what it is wrapped in, in whichever module of ours has it."""
    name = function.__name__
    for module in list(sys.modules.values()):
        known = vars(module).get(name)
        is_ours = module.__name__.startswith("django_sitemaps_plus")
        if is_ours and known is not None and unwrap(known) is unwrap(function):
            stack.enter_context(mock.patch.object(module, name, wrapper(known)))


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
                pieces.append(store.build_page(*args))
                if len(pieces) == len(ranges):
                    reached()
                return pieces[-1]

            with mock.patch.object(split, "build_page", build):
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
    build(full=True, replan=True, allow_shrink=True)


def provoke(name: str, number: int) -> None:
    """Change rows so that a build gets to a checkpoint."""
    if name == "inside split":
        add(range(10, 90, 4), f"split-{number}")
    elif name == "inside merge":
        Product.objects.filter(pk__gt=STEP, pk__lt=18 * STEP).delete()
    else:
        rename([0], f"edit-{number}")
