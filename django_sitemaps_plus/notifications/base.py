"""``Engine``: the base class of engines."""

from __future__ import annotations

import enum
from abc import ABC, abstractmethod
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, ClassVar

from django_sitemaps_plus.conf import Site


class Takes(enum.Enum):
    """The kind of target that an engine takes."""

    URLS = "urls"  # each URL that was added, updated or removed
    FEEDS = "feeds"  # where lists of URLs are: indexes, or feeds of its own options


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """The targets of one request."""

    site: Site  # they belong to it; its origin comes from the settings
    host: str  # of all targets, with its port where the URLs have one
    targets: Sequence[str]  # absolute URLs, exactly as in ``loc``, each once


class Engine(ABC):
    """A service that is notified of changes.

    ``BACKEND`` in ``SITEMAPS_PLUS["ENGINES"]`` names a subclass, which is made once in
    each process, with ``OPTIONS`` as keyword arguments; it raises a ConfigurationError
    where these are missing or cannot work. An engine makes one request; when, how often
    and for which targets is decided elsewhere.

    Attributes:
        name: its key in ENGINES, under which its deliveries are stored.
        endpoint: a URL that it answers at, for ``sitemap_doctor --online``.
    """

    #: The kind of target that is submitted to the engine.
    takes: ClassVar[Takes] = Takes.URLS
    #: The most targets of one request.
    max_batch: ClassVar[int] = 1
    #: For feeds: whether one is submitted again when its content has changed.
    follows_content: ClassVar[bool] = False
    #: The least time between two notifications of one target; None for the setting.
    again_after: ClassVar[timedelta | None] = None

    name: str = ""
    endpoint: str = ""
    digest: str = ""  # of the texts among its options

    @abstractmethod
    def send(self, batch: Batch) -> None:
        """Submit the targets of a batch, at most ``max_batch``, in one request.

        Return when the engine has accepted them.

        Raises:
            RetryLater: the engine cannot take them now.
            EngineRefused: it takes nothing until somebody corrects something.
            BatchRejected: something in this batch is wrong.
        """

    def feeds(self, site: Site, indexes: Collection[str]) -> Collection[str]:
        """Return the targets of an engine that takes feeds: all indexes of the site."""
        return indexes

    def read_back(self, site: Site, target: str) -> dict[str, Any] | None:
        """Return what the engine reports about a target, as values for JSON, or None.

        Problems are made of ``errors``, a number; ``lastDownloaded``, in ISO 8601; and
        ``indexed`` with ``submitted``, each a number, or numbers by kind of content.

        Raises:
            RetryLater, EngineRefused, BatchRejected: as :meth:`send`.
        """
        return None

    def files(self, site: Site) -> dict[str, str]:
        """Return the names and contents of text files that the engine looks for.

        They are served at the root of the site, if they are named by 1 to 128 of
        ``A-Z a-z 0-9 _ -`` before ``.txt``.
        """
        return {}

    def __repr__(self) -> str:
        # Options may be secrets.
        return f"<{type(self).__name__} {self.name!r}>"
