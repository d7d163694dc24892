"""Prunes beside builds: nothing that a page points to is ever removed."""

import random
import threading
import time
from collections import Counter
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.db import OperationalError, connection

from django_sitemaps_plus.building import worker
from django_sitemaps_plus.building.build import build
from django_sitemaps_plus.conf import AppSettings
from django_sitemaps_plus.models import Page, Section
from django_sitemaps_plus.publishing import prune as pruning
from django_sitemaps_plus.publishing.prune import prune
from django_sitemaps_plus.sites import get_site
from django_sitemaps_plus.storage import is_intact, objects
from tests.support.testapp.models import Product

from .tools.published import unpublished
from .tools.shop import (
    ALLOW,
    IS_SOAK,
    STEP,
    PlainSource,
    add,
    add_quietly,
    rename,
    some_seed,
)

pytestmark = pytest.mark.django_db(transaction=True)

SECONDS = 60 if IS_SOAK else 3

#: Seconds after which a thread has hung.
HANG = 120

#: Objects that are removed at least before it is known that none of them was needed.
ENOUGH = 10


class Site:
    """Builders and a pruner, each in a thread of its own, until the time is over."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.end = time.monotonic() + SECONDS
        self.counts: Counter[str] = Counter()
        self.bad: list[str] = []

    def is_at_work(self) -> bool:
        """Return whether there is time left; a busy machine gets more of it."""
        left = self.end - time.monotonic()
        return left > 0 or (self.counts["removed"] <= ENOUGH and left > -HANG / 2)

    def build(self, number: int) -> None:
        chance = random.Random(self.seed + number)
        keys = [STEP * key for key in range(number + 1, 61, 2)]
        while self.is_at_work():
            self.counts["builds"] += 1
            mark = f"{number}-{self.counts['builds']}"
            match chance.randrange(6):
                case 0:
                    first = chance.choice(keys) + 1 + number
                    new = range(first, first + 24, 2)
                    Product.objects.filter(pk__in=new).delete()
                    add(new, mark)
                case 1:
                    Product.objects.filter(pk__in=chance.sample(keys, 10)).delete()
                case _:
                    rename(chance.sample(keys, 3), mark)
            build(**ALLOW)

    def prune(self) -> None:
        """Prune again and again; look each time whether it has taken too much."""
        while self.is_at_work():
            self.counts["prunes"] += 1
            self.counts["removed"] += prune(get_site()).objects
            self.bad += lost()

    def run(self) -> None:
        works = [lambda: self.build(0), lambda: self.build(1), self.prune]
        threads = [threading.Thread(target=self._safely, args=[w]) for w in works]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(HANG)
            assert not thread.is_alive(), "a thread has hung"

    def _safely(self, work: Callable[[], None]) -> None:
        try:
            while self.is_at_work():
                try:
                    work()
                except OperationalError:  # the database gave one of them up
                    self.counts["given_up"] += 1
        except BaseException as error:
            self.bad.append(repr(error))
            raise
        finally:
            connection.close()


def lost() -> list[str]:
    """Return the pages that point to an object which is not there, in words."""
    found = []
    for page in Page.objects.exclude(object=""):
        if is_intact(page.object, page.gzip_hash):
            continue
        # It may have been pointed to another meanwhile, and this one removed.
        if Page.objects.filter(pk=page.pk, object=page.object).exists():
            found.append(f"{page} has lost {page.object}")
    return found


def wait_between_store_and_flip(monkeypatch: Any, seed: int) -> None:
    """Let builders hold for a moment what they have stored."""
    real, chance = worker.flip, random.Random(seed)

    def flip(results: Any) -> Any:
        time.sleep(chance.random() / 20)
        return real(results)

    monkeypatch.setattr(worker, "flip", flip)


def test_nothing_that_is_pointed_to_is_removed(sections, monkeypatch, figures):
    """Even by a prune that waits for nothing, beside builds, splits and merges."""
    sections.register("products", PlainSource)
    add_quietly(range(STEP, 61 * STEP, STEP))  # MariaDB has no key 0
    build()
    # Many flips within a second get times that are yet to come.
    monkeypatch.setattr(AppSettings, "grace", timedelta(minutes=-5))
    monkeypatch.setattr(pruning, "MARGIN", timedelta(0))
    # Nothing but their age tells that unfinished files are not being written.
    for module in (objects, pruning):
        monkeypatch.setattr(module, "remove_unfinished", lambda *args: 0)
    seed = some_seed(0)
    wait_between_store_and_flip(monkeypatch, seed)
    site = Site(seed)
    site.run()
    build(**ALLOW)
    for _ in range(2):
        prune(get_site())
    figures(
        "prunes beside builds",
        seed=seed,
        **site.counts,
        lost=site.bad,
        bad=unpublished(),
    )
    assert site.counts["removed"] > ENOUGH
    stored = objects.list_objects("products", Section.objects.first().namespace)
    assert len(stored) > 1
    for names in stored.values():
        assert Page.objects.filter(object__in=names).count() == len(names)
