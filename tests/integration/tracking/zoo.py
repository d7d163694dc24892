"""A zoo of sources that hold what differs from process to process."""

from __future__ import annotations

import collections
import dataclasses
import datetime
import functools
import importlib
import json
import operator
import os
import pkgutil
import random
import re
import socket
import time
import uuid
from typing import Any

from django.contrib.sitemaps import GenericSitemap, Sitemap
from django.db import models
from django.db.models import F, OuterRef, Q, Value
from django.db.models.functions import Coalesce
from django.utils import timezone
from django.utils.functional import cached_property
from django.utils.translation import gettext_lazy

from django_sitemaps_plus import Source, ViewSource
from django_sitemaps_plus.models import Section
from tests.support.shop import limited
from tests.support.testapp.models import Book, Product

NUMBER = int(os.environ.get("TEST_PROCESS", "0"))


class date(datetime.date):  # noqa: N801 - as it is written in projects
    """Days that pass from process to process."""

    @classmethod
    def today(cls) -> Any:
        """Return the day of this process."""
        return cls(2026, 6, 1 + NUMBER)


LETTERS = {"a", "b", "c", "d", "e", "f"}
BEGAN = datetime.datetime.now(datetime.UTC)
TOKEN = uuid.uuid4().hex


@dataclasses.dataclass
class Options:
    """Values of a project, which compare."""

    kinds: set[str]
    prefix: str = "/a/"


class Service:
    """An object of a project, which is itself."""

    def __init__(self) -> None:
        self.began = time.time()

    def act(self) -> None:
        """Do something."""


def decorated(function: Any) -> Any:
    @functools.wraps(function)
    def inner(*given: Any) -> Any:
        return function(*given)

    return inner


def bare(function: Any) -> Any:
    return lambda *given: function(*given)


def labels(sep: str) -> Any:
    class Labelled(ViewSource):
        views = ["home"]

        def priority(self, item: Any) -> float:
            return 0.5 if item in sep else 0.4

    return Labelled


books = Book.objects.filter(author=OuterRef("pk"))

#: Attributes that projects give classes; by what they are.
SHAPES: dict[str, Any] = {
    "sets": [LETTERS, frozenset(LETTERS)],
    "a dict of a set": dict.fromkeys(LETTERS, 1),
    "keys of a dict": dict.fromkeys(LETTERS).keys(),
    "a condition": Q(slug__in=LETTERS) | Q(name__in=frozenset(LETTERS)),
    "a lookup": {"slug__in": LETTERS},
    "a value": Value({"a": LETTERS}, models.JSONField()),
    "an expression": Coalesce("name", Value("x"), output_field=models.CharField()),
    "a subquery": models.Subquery(books.filter(slug__in=LETTERS).values("slug")[:1]),
    "exists": models.Exists(books.filter(slug__in=LETTERS)),
    "a filtered relation": models.FilteredRelation("x", condition=Q(slug__in=LETTERS)),
    "a window": models.Window(models.Count("pk"), partition_by=[F("slug")]),
    "a field": models.CharField(max_length=3, choices=[("a", "b")]),
    "prefetched": models.Prefetch("tags", Book.objects.filter(slug__in=LETTERS)),
    "a queryset": Product.objects.filter(slug__in=LETTERS),
    "a manager": Product.objects,
    "a method of a manager": Product.objects.filter,
    "a partial": functools.partial(sorted, LETTERS, key=Service()),
    "a getter": operator.attrgetter("slug"),
    "a pattern": re.compile("a|b"),
    "a lazy text": gettext_lazy("Products"),
    "a lazy text in a list": [("a", gettext_lazy("Products"))],
    "a dataclass": Options(LETTERS),
    "a service": Service(),
    "a class": Service,
    "a module": json,
    "a kept property": cached_property(lambda self: LETTERS),
    "a kept function": functools.lru_cache(lambda self: "x" in {"a", "b", "c", "d"}),
    "of others": decorated(lambda self, item: item in {"a", "b", "c", "d"}),
    "a bare decorator": bare(lambda self, item: item in {"a", "b", "c", "d"}),
    "a default": lambda self, item, known=frozenset(LETTERS): item in known,
    "the time": BEGAN,
    "a time by name": functools.partial(dict, now=BEGAN),
    "a bound method": Service().act,
    "a method of the environment": os.environ.get,
    "a queue": collections.deque([LETTERS]),
    "keys of JSON": Section.objects.filter(replaced__key=True),
}


def with_set(self: Any) -> Any:
    return Product.objects.filter(Q(slug__in=LETTERS) & ~Q(name__in=set(LETTERS)))


def with_loop(self: Any) -> Any:
    wanted = [Q(slug__startswith=letter) for letter in LETTERS]
    return Product.objects.filter(functools.reduce(operator.or_, wanted))


def with_time(self: Any) -> Any:
    return Product.objects.filter(updated_at__lte=timezone.now()).annotate(
        n=Value(time.time(), models.FloatField()), day=Value(date.today())
    )


def with_raw(self: Any) -> Any:
    raw = models.expressions.RawSQL("%s", ["x"])
    return Product.objects.annotate(raw=raw).filter(
        models.Exists(Book.objects.filter(slug=OuterRef("slug"), slug__in=LETTERS))
    )


QUERIES = {it.__name__: it for it in (with_set, with_loop, with_time, with_raw)}


class OfProcess(ViewSource):
    """Has what no other process has, as it is computed here."""

    views = ["home"]
    token = uuid.uuid4()
    token_text = f"{TOKEN}-{uuid.uuid4().hex[:8]}"
    day = date.today()
    days: Any = [date.today() + datetime.timedelta(days=1)]
    stamp = int(time.time() * 1000)
    chance = random.random()
    where = (os.getpid(), socket.gethostname())
    of_module = TOKEN


class OfInstance(Sitemap):
    """The same of an instance."""

    def __init__(self) -> None:
        self.token = uuid.uuid4()
        self.day = date.today()

    def items(self) -> Any:
        return Product.objects.filter(slug__in=LETTERS)

    def location(self, item: Any) -> str:
        return f"/{item.slug}"


def sources() -> dict[str, Any]:
    """Return these, those of the example project, and those of tests of sources."""
    found: dict[str, Any] = {
        "class made": labels("abc"),
        "instance": OfInstance(),
        "generic": GenericSitemap({"queryset": with_set(None), "date_field": "pk"}),
    }
    for name, value in SHAPES.items():
        found[name] = type("Shape", (ViewSource,), {"views": ["home"], "it": value})
    for name, method in QUERIES.items():
        found[name] = limited(3, get_queryset=method)
    own = importlib.import_module("tests.integration.sources").__path__
    for it in pkgutil.iter_modules(own, "tests.integration.sources."):
        importlib.import_module(it.name)
    kinds = [Source, Sitemap]
    for kind in kinds:
        kinds += kind.__subclasses__()
        if not kind.__module__.startswith(("django.", "django_sitemaps_plus.")):
            found[f"{kind.__module__}.{kind.__name__}"[-64:]] = kind
    return found
