"""T14: no request, however odd, costs more than a page, writes, or breaks anything."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

import pytest
from django.db import connection
from django.test import Client

from django_sitemaps_plus.building.build import build
from django_sitemaps_plus.models import Page, State
from tests.support.key_files import ENGINES
from tests.support.testapp.models import Product

from .tools.odd_requests import Requests, is_allowed
from .tools.shop import ALLOW, IS_SOAK, STEP, PlainSource, publish, some_seed

pytestmark = pytest.mark.django_db(transaction=True)

REQUESTS = 20_000 if IS_SOAK else 800

MAX_QUERIES = 4
MAX_SECONDS = 2.5  # ten times what the promise says, on a busy machine


@dataclass
class Watch:
    """Counts what a request asks of the database, and refuses what it may not."""

    queries: int = 0
    most: int = 0
    writes: list[str] = field(default_factory=list)

    def __call__(self, execute: Any, sql: str, *rest: Any) -> Any:
        """Stand between Django and the database."""
        self.queries += 1
        if not sql.lstrip("( ").upper().startswith("SELECT"):
            self.writes.append(sql)
        return execute(sql, *rest)

    def next(self) -> int:
        """Begin a new request; return the queries of the last one."""
        last, self.queries = self.queries, 0
        self.most = max(self.most, last)
        return last


@pytest.fixture
def site(sections: Any, configure: Any) -> None:
    """Have a section that is built, one that is served live, and one in between."""
    files = {"ROBOTS": {}, "ENGINES": ENGINES}
    configure(**files)
    publish(60, name="built")
    # Pages 2 and 3 become one, and page 6 is left without entries.
    Product.objects.filter(pk__gt=11 * STEP, pk__lt=28 * STEP).delete()
    Product.objects.filter(pk__gte=50 * STEP).delete()
    build(**ALLOW)
    sections.register("half", PlainSource)
    build(["half"])
    Page.objects.of("default", "half").filter(number=2).update(built=0, object="")
    sections.register("live", PlainSource)
    retired, _ = (
        Page.objects.of("default", "built").filter(state=State.RETIRED).delete()
    )
    assert retired == 1  # as if it was pruned: its number is gone for good
    Client().get("/sitemap-live-1.xml")  # whoever is first makes the live plan


def tags() -> Iterator[tuple[str, str]]:
    """Yield the path and the tag of each document of the built section."""
    for page in Page.objects.of("default", "built").exclude(plain_hash=""):
        path = f"/sitemap-built-{page.number}.xml"
        yield from [(path, page.plain_hash), (f"{path}.gz", page.gzip_hash)]


@pytest.mark.usefixtures("site", "quiet")
def test_random_requests(figures):
    """Only the answers of the promise, at most four queries, nothing written."""
    seed = some_seed(0)
    requests = Requests(seed, ["built", "live", "half"], tags())
    pages = [("GET", f"/sitemap-built-{number}.xml", {}) for number in range(1, 8)]
    watch, client = Watch(), Client()
    bad: list[str] = []
    answers: Counter[int] = Counter()
    slowest = 0.0
    with connection.execute_wrapper(watch):
        for method, url, headers in chain(pages, requests.many(REQUESTS)):
            began = time.perf_counter()
            response = client.generic(method, url, headers=headers)
            slowest = max(slowest, time.perf_counter() - began)
            answers[response.status_code] += 1
            what = f"{response.status_code} {method} {url[:80]!r} {sorted(headers)}"
            if not is_allowed(response.status_code, method, headers):
                bad.append(what)
            if watch.next() > MAX_QUERIES:
                bad.append(f"too many queries: {what}")
    figures(
        "random requests",
        seed=seed,
        points=REQUESTS,
        bad=bad,
        answers=dict(answers),
        queries=watch.most,
        slowest=f"{slowest:.3f}s",
    )
    assert watch.writes == []
    assert slowest < MAX_SECONDS
    assert {200, 304, 404, 410} <= set(answers)
