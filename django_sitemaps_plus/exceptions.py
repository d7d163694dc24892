"""The errors that this app raises.

::

    SitemapsPlusError
     +-- ConfigurationError        (also ImproperlyConfigured)
     |    +-- AlreadyRegistered    the name of a section is taken
     +-- NotRegistered             (also LookupError)
     +-- EngineError               an engine was not notified
     |    +-- RetryLater           it cannot be reached, or is busy
     |    +-- EngineRefused        it takes nothing until somebody acts
     |    +-- BatchRejected        something in one request is wrong
     +-- BuildError
          +-- SourceError        a source could not be read
          |    +-- StalePlanError     its stored plan does not fit it any more
          +-- StoreError         the storage did not take or give an object
               +-- LostObjectError    an object is missing or damaged
"""

from __future__ import annotations

from collections.abc import Iterable

from django.core.exceptions import ImproperlyConfigured


class SitemapsPlusError(Exception):
    """The root of the tree; never raised itself."""

    def __str__(self) -> str:
        """Return at most 2,000 characters that no database or terminal refuses.

        They may quote an error of the user's code, and are stored in rows.
        """
        text = super().__str__().replace("\0", "")[:2_000]
        return text.encode(errors="replace").decode()


class ConfigurationError(SitemapsPlusError, ImproperlyConfigured):
    """A setting or a source cannot work as it is."""


class AlreadyRegistered(ConfigurationError):
    """The name of the section is taken."""


class NotRegistered(SitemapsPlusError, LookupError):
    """No section has this name."""


class BuildError(SitemapsPlusError):
    """A build did not do what it was asked for; what was published before stays."""


class SourceError(BuildError):
    """A source could not be read: its queryset, its database or its code failed.

    Attributes:
        is_outage: whether its database was out of reach, so that a later try may work.
    """

    def __init__(self, message: str = "", *, is_outage: bool = False) -> None:
        super().__init__(message)
        self.is_outage = is_outage


class StalePlanError(SourceError):
    """The bounds of the stored plan are not keys of the source any more."""


class StoreError(BuildError):
    """The storage failed."""


class LostObjectError(StoreError):
    """An object is missing or damaged; reading it again does not help."""


class EngineError(SitemapsPlusError):
    """An engine was not notified. The text is for people and contains no secrets."""


class RetryLater(EngineError):
    """An engine takes nothing now: it cannot be reached, is busy, or asks to wait.

    Attributes:
        after: seconds that it asks to wait, or None.
    """

    def __init__(self, message: str, after: float | None = None) -> None:
        super().__init__(message)
        self.after = after


class EngineRefused(EngineError):
    """An engine takes nothing until somebody corrects a key or an account."""


class BatchRejected(EngineError):
    """Something in a batch is wrong; smaller batches find out what.

    Attributes:
        targets: the wrong ones, if the engine accepted all others of the batch; empty
            if it does not say, or accepted nothing.
    """

    def __init__(self, message: str = "", targets: Iterable[str] = ()) -> None:
        super().__init__(message)
        self.targets = frozenset(targets)
