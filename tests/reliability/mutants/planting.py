"""Mutants: known mistakes, each planted in the place of one attribute.

A mutant names an attribute of a module, or of a class in it, and what stands in its
place: the function that is decorated here, which gets what was there first. So moving
code around an attribute costs nothing.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Any

PACKAGE = "django_sitemaps_plus"

#: Names the mutant that every process of a test has.
VARIABLE = "SITEMAPS_PLUS_MUTANT"

#: Names the file in which a mutant that is itself broken says so.
BROKEN = "SITEMAPS_PLUS_MUTANT_BROKEN"

#: What a function raises that no longer fits the code around it.
_OUTDATED = (ImportError, AttributeError, NameError, TypeError)


@dataclass(frozen=True, slots=True)
class Mutant:
    """A mistake, and the test that must catch it.

    Attributes:
        name: what it is called on the command line.
        target: ``module:attribute`` or ``module:Class.attribute``.
        function: gets what the attribute was, then the arguments of a call; of an
            attribute that cannot be called it returns another value.
        test: what pytest is given.
        database: that the test runs on.
        is_slow: whether the test takes too long for a sample.
    """

    name: str
    target: str
    function: Callable[..., Any]
    test: str
    database: str
    is_slow: bool

    @property
    def module(self) -> str:
        """The module of the attribute."""
        return self.target.partition(":")[0]

    @property
    def sentence(self) -> str:
        """What the mistake is."""
        return (self.function.__doc__ or "").strip()


#: All mutants by their names.
MUTANTS: dict[str, Mutant] = {}


def mutant(
    target: str, test: str, *, database: str = "sqlite", is_slow: bool = False
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Make a function a mutant; modules are those of the package, or Django's."""
    if not target.startswith("django."):
        target = f"{PACKAGE}.{target}"

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        name = function.__name__
        MUTANTS[name] = Mutant(name, target, function, test, database, is_slow)
        return function

    return register


def find(target: str) -> tuple[Any, str]:
    """Return what has the attribute of a target, and its name."""
    module, _, path = target.partition(":")
    *holders, name = path.split(".")
    holder: Any = importlib.import_module(module)
    for part in holders:
        holder = getattr(holder, part)
    getattr(holder, name)
    return holder, name


def plant(mutant: Mutant) -> None:
    """Make a mistake in this process, as soon as its module has been imported.

    No other module has been given the attribute by then, so all get the mistake.
    """
    if mutant.module in sys.modules:
        _put(mutant)
    else:
        sys.meta_path.insert(0, _Planter(mutant))


def _put(mutant: Mutant) -> None:
    holder, name = find(mutant.target)
    setattr(holder, name, _mistaken(mutant.function, getattr(holder, name)))


def _mistaken(function: Callable[..., Any], original: Any) -> Any:
    if not callable(original):
        return function(original)

    @wraps(original)
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(original, *args, **kwargs)
        except _OUTDATED as error:
            if _is_ours(error):
                Path(os.environ[BROKEN]).write_text(f"{type(error).__name__}: {error}")
            raise

    return call


def _is_ours(error: BaseException) -> bool:
    """Return whether a mutant raised an error itself, and nothing that it called."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    file = trace.tb_frame.f_code.co_filename if trace is not None else ""
    return Path(file).parent == Path(__file__).parent


class _Planter(MetaPathFinder):
    """Sees to a mutant when its module is imported."""

    def __init__(self, mutant: Mutant) -> None:
        self._mutant = mutant

    def find_spec(
        self, fullname: str, path: Any = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname != self._mutant.module:
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(fullname)
        if spec is not None and spec.loader is not None:
            loader: Any = spec.loader
            execute = loader.exec_module

            def exec_module(module: ModuleType) -> None:
                execute(module)
                _put(self._mutant)

            loader.exec_module = exec_module
        return spec
