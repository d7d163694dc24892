"""Engines of one kind or another, which remember what they are told."""

from __future__ import annotations

from collections.abc import Callable, Collection
from datetime import timedelta
from typing import Any, ClassVar

from django_sitemaps_plus.conf import Site
from django_sitemaps_plus.exceptions import BatchRejected, RetryLater
from django_sitemaps_plus.notifications import Batch, Takes
from django_sitemaps_plus.notifications.outbox import want_urls
from django_sitemaps_plus.testing import RecordingEngine

FEED = "https://example.com/news.atom"


class OtherEngine(RecordingEngine):
    """Another than the usual one."""


class SingleEngine(RecordingEngine):
    """Is told one target at a time."""

    max_batch = 1


class FewEngine(RecordingEngine):
    """Is told eight targets at a time."""

    max_batch = 8


class FragileEngine(RecordingEngine):
    """Fails whenever it is told of one target, as a server with a bug does."""

    poison = "https://example.com/poison/"

    def send(self, batch: Batch) -> None:
        """Remember a batch without the poison."""
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
        """Remember a batch without bad URLs."""
        bad = [target for target in batch.targets if target in self.bad]
        if bad:
            name = type(self).name
            raise BatchRejected("bad", name(bad, batch) if name else bad)
        super().send(batch)

    @classmethod
    def clear(cls) -> None:
        """Forget everything."""
        super().clear()
        cls.bad, cls.name = (), None


class ConsoleEngine(RecordingEngine):
    """Is told of each index, once; and says what it thinks of it."""

    takes = Takes.FEEDS
    again_after = timedelta(days=1)
    asked: ClassVar[list[str]] = []
    answer: ClassVar[Any] = None

    def read_back(self, site: Site, target: str) -> dict[str, Any] | None:
        """Give the answer, raise it or work it out."""
        self.asked.append(target)
        answer = type(self).answer
        if isinstance(answer, Exception):
            raise answer
        return answer() if callable(answer) else {"errors": answer}

    @classmethod
    def clear(cls) -> None:
        """Forget everything."""
        super().clear()
        cls.asked.clear()
        cls.answer = None


class OtherConsole(ConsoleEngine):
    """Another one that is asked."""

    asked: ClassVar[list[str]] = []


class HubEngine(RecordingEngine):
    """Is told of a feed whenever that has changed."""

    takes = Takes.FEEDS
    follows_content = True

    def feeds(self, site: Site, indexes: Collection[str]) -> Collection[str]:
        """Return a feed of the project's own."""
        return [FEED]


class BrokenHubEngine(HubEngine):
    """Does not know what its feeds are."""

    def feeds(self, site: Site, indexes: Collection[str]) -> Collection[str]:
        """Raise."""
        raise ValueError("no feeds")


class ActingEngine(RecordingEngine):
    """Does something while it is told, as other processes might; once."""

    max_batch = 2
    act: ClassVar[Callable[[], object] | None] = None

    def send(self, batch: Batch) -> None:
        """Remember a batch, and act."""
        super().send(batch)
        cls = type(self)
        if cls.act is not None:
            act, cls.act = cls.act, None
            act()

    @classmethod
    def clear(cls) -> None:
        """Forget everything."""
        super().clear()
        cls.act = None


ENGINES: list[type[RecordingEngine]] = [
    OtherEngine,
    SingleEngine,
    FewEngine,
    FragileEngine,
    FragileSingleEngine,
    NamingEngine,
    ConsoleEngine,
    OtherConsole,
    HubEngine,
    BrokenHubEngine,
    ActingEngine,
]


def path_of(engine: type[RecordingEngine]) -> str:
    """Return where settings find an engine."""
    return f"{engine.__module__}.{engine.__qualname__}"


def urls(count: int, first: int = 0, host: str = "example.com") -> list[str]:
    """Return URLs of a host, in their order."""
    return [f"https://{host}/{number:05}/" for number in range(first, first + count)]


def want(*targets: str) -> None:
    """Have engines hear of URLs."""
    want_urls(targets)
