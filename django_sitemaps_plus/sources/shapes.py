"""Shapes: what is the same of queries and values, in every process of the code."""

from __future__ import annotations

import ast
import copyreg
import functools
import re
import sys
from collections.abc import Iterator, Mapping, Set
from contextlib import suppress
from datetime import date, datetime
from enum import Enum
from inspect import getattr_static, getsource
from itertools import chain, islice
from operator import methodcaller
from reprlib import recursive_repr
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any

from django.db import connections
from django.db.models import Field, Manager, Model, QuerySet
from django.db.models.expressions import ResolvedOuterRef
from django.db.models.lookups import In
from django.db.models.sql import Query
from django.utils.functional import LazyObject, Promise, cached_property

# Dates in a query become such texts where the database has no type for them.
_DATE_TEXT = re.compile(r"\d{4}-\d\d-\d\d([ T]\d\d:\d\d:\d\d.*)?")

# Seconds since 1970, or thousandths of them, from 2001 to 2033.
_SECONDS = (10**9, 2 * 10**9)
_MILLISECONDS = (10**12, 2 * 10**12)

# Conditions that code makes of rows are joined by these.
_JOINED = (" OR ", " AND ", " WHEN ")

# Parts of queries begin with these: each has its values, and comes in any order.
_PART = re.compile(r" (?:OR|AND|WHEN|ELSE|END|WHERE|(?:GROUP|ORDER) BY) ")

# How many conditions code may make of each row.
_MOST_EACH = 3

_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")

_KEPT = (cached_property, functools.cached_property)

#: Types of code, and the attributes in which they hold other code and what it is given.
_CODE = (
    *(FunctionType, MethodType, classmethod, staticmethod, property, *_KEPT),
    *(functools.partial, functools.partialmethod, type(functools.cache(id))),
)
_HELD = "__code__", "__wrapped__", "__func__", "fget", "func", "args", "keywords"

# Types whose repr() says all, and is the same in every process.
_PLAIN = (str, bytes, int, float, complex, type, Promise, Manager)

# Functions whose results differ from process to process, and modules of such.
_FUNCTIONS = {
    *("now", "today", "utcnow", "localdate", "localtime", "random", "getpid"),
    *("uuid1", "uuid4", "uuid6", "uuid7", "gethostname", "get_random_string"),
}
_MODULES = ["random"], ["secrets"], ["socket"], ["time"]


def shape_of(queryset: QuerySet[Any]) -> tuple[str, list[str]]:
    """Return the SQL of a query, and its values as texts.

    The SQL is the same for lists of any length, also for empty ones. Values in a list
    come in one order, as those of joined conditions do, and times not at all.
    """
    own: Any = connections[queryset.db]
    ops = _Over(own.ops, compiler=lambda name: _folding(own.ops.compiler(name)))
    connection: Any = _Over(own, ops=ops)
    query = queryset.query.chain()
    query.select_for_update = False  # which needs a transaction
    compiler = query.get_compiler(connection=connection, elide_empty=False)
    sql, params = compiler.as_sql()
    sql = sql.translate({ord("("): None, ord(")"): None})
    values, rest = [], iter(params)
    for part in _PART.split(sql):
        given = [it for it in islice(rest, part.count("%s")) if not is_time(it)]
        texts = [it if isinstance(it, _Listed) else _named(it) for it in given]
        values.append(f"{part} {texts}")
    for separator in _JOINED:
        for size in range(1, _MOST_EACH + 1):
            sql = separator.join(_folded(sql.split(separator), size, separator))
    return sql, sorted(values)


@recursive_repr()
def words_of(value: Any) -> str:
    """Return what is the same of a value in every process of the same code.

    Code is known by its instructions and what they are given; what can be compared, by
    its type and state, in which sets and dicts have no order; all else by its repr()
    without addresses. Rows, moments and lazy objects are known by their types.
    """
    kind: Any = type(value)
    is_moment = issubclass(kind, datetime) and 0 < value.microsecond < 999_999
    if is_moment or issubclass(kind, Model | LazyObject):
        return str(kind)
    if isinstance(value, CodeType):
        return f"{value.co_code.hex()} {value.co_names} {words_of(value.co_consts)}"
    if isinstance(value, _CODE):
        return words_of(_held_by(value))
    if isinstance(value, Mapping):
        return f"{{{', '.join(sorted([words_of(pair) for pair in value.items()]))}}}"
    if isinstance(value, tuple | list | Set):
        texts = map(words_of, value)
        # No repr() of these, which would double each backslash at each level.
        return f"({', '.join(sorted(texts) if isinstance(value, Set) else texts)})"
    if isinstance(value, QuerySet):  # whose repr() would read rows
        return shape_of(value)[0]
    if isinstance(value, Query):  # of a subquery, whose values nothing else compares
        return words_of(shape_of(QuerySet(value.model, value)))
    return _ADDRESS.sub("", _state_of(value) or repr(value))


def _held_by(code: Any) -> list[Any]:
    """Return what code consists of and is given; of values that may change, types."""
    parts = [getattr(code, name, None) for name in _HELD]
    given = [getattr(code, "__self__", None)]
    given += getattr(code, "__defaults__", None) or ()
    given += (getattr(code, "__kwdefaults__", None) or {}).values()
    cells = getattr(code, "__closure__", None) or ()
    given += [getattr(it, "cell_contents", None) for it in cells]
    fixed = (*_CODE, *_PLAIN, tuple, frozenset)
    return [*parts, *[it if isinstance(it, fixed) else type(it) for it in given]]


def _state_of(value: Any) -> str:
    """Return the type and state of what can be compared; "" of other objects."""
    kind: Any = type(value)
    if isinstance(value, ModuleType):  # whose repr() has a directory
        return value.__name__
    if isinstance(value, Manager):
        return f"{kind} {getattr(value, 'model', None)}"
    if isinstance(value, Enum | Field):
        state = value.value if isinstance(value, Enum) else value.deconstruct()[1:]
        return f"{kind} {words_of(state)}"
    is_compared = kind.__eq__ != object.__eq__ or hasattr(kind, "resolve_expression")
    if isinstance(value, _PLAIN) or not is_compared:
        return ""
    with suppress(Exception):  # it cannot be copied
        reduced = copyreg.dispatch_table.get(kind, methodcaller("__reduce_ex__", 2))
        parts = list(reduced(value))[1:]
        for at, part in enumerate(parts):
            if isinstance(part, Iterator):
                parts[at] = list(part)
            elif isinstance(part, dict):  # without what was computed of the rest
                held = {it: getattr_static(kind, it, None) for it in part}
                names = [it for it in part if not isinstance(held[it], _KEPT)]
                parts[at] = {it: part[it] for it in names}
        return f"{kind} {words_of(parts)}"
    return ""


@functools.cache
def computed(kind: type) -> dict[str, str]:
    """Return the attributes that a class computes of the time, chance or its process.

    Each with its expression. Where there is no text of the module, none is known.
    """
    try:
        module = sys.modules[kind.__module__]
        tree = ast.parse(getsource(module))
    except (KeyError, OSError, TypeError, ValueError, SyntaxError):
        return {}
    kinds = [it for it in ast.walk(tree) if isinstance(it, ast.ClassDef)]
    own = [it for it in kinds if it.name == kind.__name__]
    body = {*tree.body, *chain.from_iterable([it.body for it in own])}
    found = dict[str, str]()
    for node in chain(tree.body, *map(ast.walk, own)):
        if not isinstance(node, ast.Assign | ast.AnnAssign) or node.value is None:
            continue
        targets: list[Any] = (
            node.targets if isinstance(node, ast.Assign) else [node.target]
        )
        # Other names in methods are their own.
        names = [getattr(it, "id" if node in body else "attr", "") for it in targets]
        if isinstance(node.value, ast.BoolOp | ast.IfExp):
            continue  # it may be the other value
        text, differs = ast.unparse(node.value), False
        for part in ast.walk(node.value):
            called = ast.unparse(part.func) if isinstance(part, ast.Call) else ""
            *modules, name = called.split(".")
            is_module = modules[:1] in _MODULES and isinstance(
                vars(module).get(modules[0]), ModuleType
            )
            differs |= name in _FUNCTIONS or is_module
            if (used := found.get(getattr(part, "id", ""))) is not None:
                text, differs = f"{text} of {used}", True
        if differs:
            found |= dict.fromkeys(names, text)
    return found


def is_shape(compiler: Any) -> bool:
    """Return whether what is compiled is a shape: it reads no rows for the query."""
    return isinstance(compiler, _Folding)


def is_time(value: Any) -> bool:
    """Return whether a value may be the present time, or made of it."""
    if isinstance(value, int | float):
        (low, high), (lower, upper) = _SECONDS, _MILLISECONDS
        return low < value < high or lower < value < upper
    return _is_date(value)


def _is_date(value: Any) -> bool:
    is_text = isinstance(value, str) and _DATE_TEXT.fullmatch(value) is not None
    return is_text or isinstance(value, date)


def _named(value: Any) -> str:
    return f"{type(value).__name__} {value!r}"


def _folded(parts: list[str], size: int, separator: str) -> list[str]:
    """Return conditions without those that repeat as many before them, as of a list.

    Conditions repeat others where those end with what these begin with.
    """
    kept, at = parts[:size], size
    while at < len(parts):
        before = separator.join(kept[-size:])
        again = separator.join(parts[at : at + size])
        start = before.find(again[:8])
        while start >= 0:
            end = before[start:]
            if again.startswith(end) and "%s" in end:
                break
            start = before.find(again[:8], start + 1)
        if start < 0 or before.count(separator, start) != size - 1:
            kept.append(parts[at])
            at += 1
        else:
            kept[-size:] = (before[:start] + again).split(separator)
            at += size
    return kept


class _Listed(str):
    """The values of a list, as one text."""

    __slots__ = ()


class _Folding:
    """Compiles a list of values as one value; all else as the compiler beside it."""

    def compile(self, node: Any) -> Any:
        given: Any = getattr(node, "rhs", None)
        if isinstance(node, ResolvedOuterRef):  # whose outer query is not here
            return f"OUTER {node!r}", []
        is_list = isinstance(node, In) and node.rhs_is_direct_value()
        if not is_list or any([hasattr(value, "as_sql") for value in given]):
            return super().compile(node)  # type: ignore[misc]
        sql, params = self.compile(node.lhs)
        # Numbers in lists are keys, however large; the time comes alone.
        texts = sorted([_named(it) for it in given if not _is_date(it)])
        return f"{sql} IN (%s)", [*params, _Listed(texts)]


@functools.cache
def _folding(compiler: type) -> type:
    return type(f"Folding{compiler.__name__}", (_Folding, compiler), {})


class _Over:
    """An object with other attributes, and sets in order: compilers get all else."""

    def __init__(self, under: Any, **attributes: Any) -> None:
        self._under = under
        self.__dict__ |= attributes

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._under, name)
        return sorted(value) if isinstance(value, frozenset) else value  # as of JSON
