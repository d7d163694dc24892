"""Engines: who is told of changes, and what their answers mean."""

from __future__ import annotations

import enum
from abc import ABC, abstractmethod
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, ClassVar

from django_sitemaps_plus.conf import Site


class Takes(enum.Enum):
    """What an engine is told."""

    URLS = "urls"  # each URL that was added, updated or removed
    FEEDS = "feeds"  # where lists of URLs are: indexes, or feeds of its own options


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """What one request tells.

    Attributes:
        site: whose URLs they are; its origin is that of settings, never of a request.
        host: of all targets, as in a URL: with its port where it has one.
        targets: absolute URLs as they stand in ``loc``; no two are the same.
    """

    site: Site
    host: str
    targets: Sequence[str]


class Engine(ABC):
    """Somebody who is told of changes.

    A subclass is named by ``BACKEND`` in ``SITEMAPS_PLUS["ENGINES"]`` and made once
    with ``OPTIONS`` as keyword arguments. It says how one request is made; when, how
    often and what to tell is decided by who calls it.

    Attributes:
        name: the key in ENGINES, under which its deliveries are kept.
    """

    #: What its targets are.
    takes: ClassVar[Takes] = Takes.URLS
    #: Targets in one request.
    max_batch: ClassVar[int] = 1
    #: Of feeds: is one told again when its content has changed, or only once?
    follows_content: ClassVar[bool] = False
    #: The least time between two tellings of the same target; None for the setting.
    again_after: ClassVar[timedelta | None] = None

    name: str = ""

    @abstractmethod
    def send(self, batch: Batch) -> None:
        """Tell the targets of a batch in one request, at most ``max_batch`` of them.

        It returns when the engine has accepted them.

        Raises:
            RetryLater: the engine cannot take them now.
            EngineRefused: it will not take any until somebody has set something right.
            BatchRejected: something in this batch is wrong.
        """

    def feeds(self, site: Site, indexes: Collection[str]) -> Collection[str]:
        """Return the targets of an engine that takes feeds.

        Args:
            site: the site.
            indexes: the URLs of all indexes of the site.
        """
        return indexes

    def read_back(self, site: Site, target: str) -> dict[str, Any] | None:
        """Return what the engine itself says of a target that it was told of.

        Returns:
            Values that JSON can hold, for people to read; None where it says nothing.

        Raises:
            RetryLater, EngineRefused, BatchRejected: as :meth:`send` does.
        """
        return None

    def files(self, site: Site) -> dict[str, str]:
        """Return text files that the engine looks for at the root of the site.

        Their names, without a slash, and their content. Only names of 1 to 128 of
        ``A-Z a-z 0-9 _ -`` before ``.txt`` are served.
        """
        return {}

    def __repr__(self) -> str:
        # Options may be secrets.
        return f"<{type(self).__name__} {self.name!r}>"
