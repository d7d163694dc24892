"""T16: whatever a client keeps and asks, it ends up with the server's bytes."""

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from django_sitemaps_plus.building.build import build
from tests.support.testapp.models import Product

from .tools.http_cache import HttpCache
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

HISTORIES = 500 if IS_SOAK else 15
STEPS = 20

PATHS = ("/sitemap.xml", "/sitemap-products-1.xml", "/sitemap-products-2.xml")

ENCODINGS = (
    *("", "gzip", "identity", "br, gzip", "gzip;q=0", "*", "x-gzip"),
    "gzip;q=0, identity",
)


Turn = Callable[[HttpCache, "Server"], str]


@dataclass
class Played:
    seed: int
    points: int
    not_modified: int = 0
    bad: list[str] = field(default_factory=list)


class Clock:
    """The server's clock, which a test sets; it may run slow, or be set back."""

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance
        self.time = datetime(2026, 1, 1, tzinfo=UTC)

    def now(self) -> datetime:
        return self.time

    def tick(self) -> None:
        """Let some time pass, mostly less than a second."""
        seconds = self.chance.choice([0, 0.1, 0.1, 0.4, 0.9, 1, 1.5, 60, -0.5, -3])
        self.time += timedelta(seconds=seconds)


class Server:
    def __init__(self, chance: random.Random) -> None:
        self.chance = chance
        self.number = 0

    def change(self) -> None:
        """Edit, add or delete a row, or restore what was there before."""
        self.number += 1
        slug = f"v{self.number}"
        match self.chance.randrange(5):
            case 0 | 1:
                rename([self.chance.choice([0, 12 * STEP])], slug)
            case 2:
                rename([0], self.chance.choice(["p", "q"]))
            case 3:
                add([self.number + 10**6], slug)
            case _:
                Product.objects.filter(pk=Product.objects.latest("pk").pk).delete()

    def publish(self) -> None:
        build(**ALLOW)


def truth(path: str) -> bytes | None:
    response = Client().get(path)
    return response.content if response.status_code == 200 else None


def check_head(path: str, encoding: str) -> bool:
    """Return whether HEAD answers with the headers of GET, and no body."""
    headers = {"Accept-Encoding": encoding}
    got = Client().get(path, headers=headers)
    head = Client().head(path, headers=headers)
    same = dict(head.headers) == dict(got.headers)
    return head.status_code == got.status_code and same and not head.content


def check_if_match(path: str, encoding: str) -> bool:
    """Return whether If-Match lets the present ETag pass, and no other."""
    headers = {"Accept-Encoding": encoding}
    etag = Client().get(path, headers=headers).get("ETag")
    if etag is None:
        return True
    answers = [
        Client().get(path, headers={**headers, "If-Match": value}).status_code
        for value in (etag, f'"x", {etag}', "*", '"x"', f"W/{etag}")
    ]
    return answers == [200, 200, 200, 412, 412]


def ask(cache: HttpCache, chance: random.Random) -> str:
    """Ask for one path in one way; return what is wrong with the answer, or ""."""
    path, encoding = chance.choice(PATHS), chance.choice(ENCODINGS)
    if chance.random() < 0.2:
        path += ".gz"
    match chance.randrange(10):
        case 0:
            cache.head(path, encoding)
            return "" if check_head(path, encoding) else f"HEAD {path}"
        case 1:
            return "" if check_if_match(path, encoding) else f"If-Match {path}"
    if cache.get(path, encoding) != truth(path):
        return f"GET {path} ({encoding!r})"
    return ""


def turn(cache: HttpCache, server: Server) -> str:
    """Edit and publish, or do not, and ask; return what is wrong, or ""."""
    if server.chance.random() < 0.3:
        server.change()
    if server.chance.random() < 0.4:
        server.publish()
    return ask(cache, server.chance)


def play(
    client: Any, turn: Turn, histories: int, steps: int, monkeypatch: Any
) -> Played:
    """Let time pass, and a client with a cache ask, history after history."""
    random_seed = some_seed(0)
    played = Played(seed=random_seed, points=histories * steps)
    for number in range(histories):
        seed = number or random_seed
        chance = random.Random(seed)
        clock, server = Clock(chance), Server(chance)
        monkeypatch.setattr(timezone, "now", clock.now)
        Product.objects.all().delete()
        add_quietly(range(0, 15 * STEP, STEP))
        cache = HttpCache(client, chance)
        for step in range(steps):
            clock.tick()
            if wrong := turn(cache, server):
                played.bad.append(f"seed {seed} step {step}: {wrong}")
        played.not_modified += cache.not_modified
        if cache.ambiguous:
            played.bad.append(f"seed {seed}: {cache.ambiguous} ETags of two bodies")
    return played


def test_the_client_has_the_bytes_of_the_server(sections, monkeypatch, figures):
    """After every answer, a 304 or not, live or published, edited in between or not."""
    sections.register("products", PlainSource)
    played = play(Client(), turn, HISTORIES, STEPS, monkeypatch)
    figures("conditional requests", **vars(played))
    assert played.not_modified > HISTORIES * STEPS // 20


@pytest.mark.parametrize("seconds", [-5, -0.4])
def test_a_clock_that_is_set_back_makes_no_false_304(sections, monkeypatch, seconds):
    """Who asks by date alone gets what was published after the clock was set back."""
    sections.register("products", PlainSource)
    clock = Clock(random.Random(0))
    monkeypatch.setattr(timezone, "now", clock.now)
    clock.time += timedelta(seconds=0.2)
    add_quietly([0])
    build()
    clock.time += timedelta(seconds=0.9)
    since = Client().get(PATHS[1])["Last-Modified"]
    clock.time += timedelta(seconds=seconds)
    rename([0], "newer")
    build()
    clock.time += timedelta(seconds=30)
    response = Client().get(PATHS[1], headers={"If-Modified-Since": since})
    assert response.status_code == 200
