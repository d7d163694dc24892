"""Engines for tests: some remember what they are told, some tell a local server."""

import json
from collections.abc import Callable, Collection
from datetime import timedelta
from typing import Any, ClassVar

from django_sitemaps_plus.conf import Site
from django_sitemaps_plus.exceptions import BatchRejected, RetryLater
from django_sitemaps_plus.notifications import (
    Baidu,
    Batch,
    BingWebmaster,
    Engine,
    IndexNow,
    Ping,
    SearchConsole,
    Secret,
    Takes,
    WebSub,
    YandexWebmaster,
)
from django_sitemaps_plus.notifications.outbox import want_urls
from django_sitemaps_plus.testing import RecordingEngine
from tests.support.batches import INDEX
from tests.support.servers.engine import LocalEngine
from tests.support.servers.engine_rules import BAIDU_TOKEN, BING_KEY, YANDEX_TOKEN
from tests.support.servers.service_account import make_service_account

FEED = "https://example.com/news.atom"


class OtherEngine(RecordingEngine):
    """Another than the usual one."""


class SingleEngine(RecordingEngine):
    max_batch = 1


class FewEngine(RecordingEngine):
    max_batch = 8


class FragileEngine(RecordingEngine):
    """Fails whenever it is told of one target, as a server with a bug does."""

    poison = "https://example.com/poison/"

    def send(self, batch: Batch) -> None:
        if self.poison in batch.targets:
            raise RetryLater("It answered 500")
        super().send(batch)


class FragileSingleEngine(FragileEngine):
    """Fails at it too, and is told one target at a time."""

    max_batch = 1


class NamingEngine(RecordingEngine):
    """Rejects a batch with bad URLs, and names these, or what a test would have."""

    bad: ClassVar[Collection[str]] = ()
    name: ClassVar[Callable[[list[str], Batch], Any] | None] = None

    def send(self, batch: Batch) -> None:
        bad = [target for target in batch.targets if target in self.bad]
        if bad:
            name = type(self).name
            raise BatchRejected("bad", name(bad, batch) if name else bad)
        super().send(batch)

    @classmethod
    def clear(cls) -> None:
        super().clear()
        cls.bad, cls.name = (), None


class ConsoleEngine(RecordingEngine):
    """Is told of each index, once; and says what it thinks of it."""

    takes = Takes.FEEDS
    again_after = timedelta(days=1)
    asked: ClassVar[list[str]] = []
    answer: ClassVar[Any] = None

    def read_back(self, site: Site, target: str) -> dict[str, Any] | None:
        self.asked.append(target)
        answer = type(self).answer
        if isinstance(answer, Exception):
            raise answer
        return answer() if callable(answer) else {"errors": answer}

    @classmethod
    def clear(cls) -> None:
        super().clear()
        cls.asked.clear()
        cls.answer = None


class OtherConsole(ConsoleEngine):
    asked: ClassVar[list[str]] = []


class HubEngine(RecordingEngine):
    """Is told of a feed whenever that has changed."""

    takes = Takes.FEEDS
    follows_content = True

    def feeds(self, site: Site, indexes: Collection[str]) -> Collection[str]:
        return [FEED]


class BrokenHubEngine(HubEngine):
    def feeds(self, site: Site, indexes: Collection[str]) -> Collection[str]:
        raise ValueError("no feeds")


class ActingEngine(RecordingEngine):
    """Does something while it is told, as other processes might; once."""

    max_batch = 2
    act: ClassVar[Callable[[], object] | None] = None

    def send(self, batch: Batch) -> None:
        super().send(batch)
        cls = type(self)
        if cls.act is not None:
            act, cls.act = cls.act, None
            act()

    @classmethod
    def clear(cls) -> None:
        super().clear()
        cls.act = None


ENGINES: list[type[RecordingEngine]] = [
    *(OtherEngine, SingleEngine, FewEngine, FragileEngine, FragileSingleEngine),
    *(NamingEngine, ConsoleEngine, OtherConsole, HubEngine, BrokenHubEngine),
    ActingEngine,
]


def path_of(engine: type[RecordingEngine]) -> str:
    return f"{engine.__module__}.{engine.__qualname__}"


def urls(count: int, first: int = 0, host: str = "example.com") -> list[str]:
    return [f"https://{host}/{number:05}/" for number in range(first, first + count)]


def want(*targets: str) -> None:
    want_urls(targets)


KEY = "0123456789abcdef"
URL = "https://shop.example/caf%C3%A9?a=1&b=%20"
NEWS = "https://shop.example/news.atom?lang=de&full=1"


def of_ours(name: str, **options: Any) -> dict[str, Any]:
    return {"BACKEND": f"django_sitemaps_plus.notifications.{name}", "OPTIONS": options}


def make_indexnow(server: LocalEngine) -> Engine:
    return IndexNow(key=KEY, endpoint=f"{server.url}/indexnow")


def make_search_console(server: LocalEngine) -> Engine:
    key = Secret(json.dumps(make_service_account(server.state)))
    endpoint = f"{server.url}/webmasters/v3"
    return SearchConsole(service_account_key=key, endpoint=endpoint)


def make_yandex(server: LocalEngine) -> Engine:
    return YandexWebmaster(
        user_id=42,
        host_id="https:shop.example:443",
        token=YANDEX_TOKEN,
        endpoint=f"{server.url}/yandex/v4",
    )


def make_bing(server: LocalEngine) -> Engine:
    return BingWebmaster(api_key=BING_KEY, endpoint=f"{server.url}/bing/SubmitFeed")


MAKERS: dict[str, tuple[Callable[[LocalEngine], Engine], str]] = {
    "indexnow": (make_indexnow, URL),
    "search_console": (make_search_console, INDEX),
    "bing": (make_bing, INDEX),
    "yandex": (make_yandex, INDEX),
    "baidu": (
        lambda server: Baidu(token=BAIDU_TOKEN, endpoint=f"{server.url}/baidu/urls"),
        URL,
    ),
    "hub": (lambda server: WebSub(hub=f"{server.url}/hub", topics=[NEWS]), NEWS),
    "ping": (lambda server: Ping(endpoint=f"{server.url}/ping"), INDEX),
}
