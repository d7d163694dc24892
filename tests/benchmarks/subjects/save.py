"""What it adds to a save that its section is told of it."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from functools import partial
from statistics import quantiles

from django.conf import settings
from django.db import connection, transaction
from django.test import override_settings

from django_sitemaps_plus import receivers
from django_sitemaps_plus.models import Change
from tests.benchmarks.building import built
from tests.benchmarks.harness import Contender, Subject, Target, timed
from tests.support.testapp.models import Product

_SAVES = 200
_SINGLE_SAVES = 1_000
_TABLE = Change._meta.db_table
_INSERT = f"INSERT INTO {_TABLE} (section, kind, low, high) VALUES (%s, %s, %s, %s)"  # noqa: S608

_Block = Callable[[], AbstractContextManager[object]]


def setting(rows: int) -> Iterator[Subject]:
    """Compare receivers with an INSERT by hand after the save."""
    with built(rows):
        yield _subject("inside atomic()", transaction.atomic, transaction.atomic)
        yield _with_engines(
            _subject(
                "inside atomic(), engines configured",
                transaction.atomic,
                transaction.atomic,
            )
        )
        yield _subject("in autocommit", nullcontext, nullcontext)
        yield _single("median", 50, plus=0.001)
        yield _single("99th of a hundred", 99, plus=0.005)
        Change.objects.all().delete()


def _subject(where: str, outer: _Block, inner: _Block) -> Subject:
    def insert(product: Product) -> None:
        with inner(), connection.cursor() as cursor:
            cursor.execute(_INSERT, ["products", "key", str(product.pk), ""])

    return Subject(
        title=f"{_SAVES} saves {where}",
        rounds=15,
        contenders=[
            _saves("an INSERT by hand", receivers.disconnect, outer, insert),
            _saves("registered", receivers.connect, outer),
            _saves("not registered", receivers.disconnect, outer),
        ],
        targets=[Target("registered", beside="an INSERT by hand", times=1.3)],
    )


def _with_engines(subject: Subject) -> Subject:
    """Measure it on a site that notifies engines."""
    backend = {"BACKEND": "django_sitemaps_plus.testing.RecordingEngine"}
    ours = {"NOTIFY": True, "ENGINES": {"recording": backend}}
    site = override_settings(SITEMAPS_PLUS={**settings.SITEMAPS_PLUS, **ours})
    contenders = [
        replace(contender, measure=site(contender.measure))
        for contender in subject.contenders
    ]
    return replace(subject, contenders=contenders)


def _saves(
    name: str,
    wire: Callable[[], None],
    outer: _Block,
    after: Callable[[Product], None] = lambda product: None,
) -> Contender:
    products = list(Product.objects.filter(pk__lte=_SAVES))

    def save() -> None:
        with outer():
            for product in products:
                product.save()
                after(product)

    return timed(name, save, before=partial(_prepare, wire))


def _prepare(wire: Callable[[], None]) -> None:
    wire()
    Change.objects.all().delete()


def _single(which: str, percent: int, plus: float) -> Subject:
    """Compare how long a user waits for one save, as the promise has it."""
    return Subject(
        title=f"one save in autocommit, the {which} (of {_SINGLE_SAVES:,})",
        contenders=[
            _single_saves("not registered", receivers.disconnect, percent),
            _single_saves("registered", receivers.connect, percent),
        ],
        targets=[Target("registered", beside="not registered", plus=plus)],
    )


def _single_saves(name: str, wire: Callable[[], None], percent: int) -> Contender:
    products = list(Product.objects.filter(pk__lte=_SINGLE_SAVES))

    def measure() -> float:
        _prepare(wire)
        gc.collect()
        seconds = [_seconds(product.save) for product in products]
        return quantiles(seconds, n=100)[percent - 1]

    return Contender(name, measure)


def _seconds(action: Callable[[], object]) -> float:
    began = time.perf_counter()
    action()
    return time.perf_counter() - began
