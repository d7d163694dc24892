"""The errors that this app raises.

::

    SitemapsPlusError
     +-- ConfigurationError        (also ImproperlyConfigured)
     |    +-- AlreadyRegistered    the name of a section is taken
     +-- NotRegistered             (also LookupError)
     +-- EngineError               an engine was not told
     |    +-- RetryLater           it cannot be reached, or has no time now
     |    +-- EngineRefused        it takes nothing until somebody acts
     |    +-- BatchRejected        something in one request is wrong
     +-- BuildError
          +-- SourceError        a source could not be read
          |    +-- StalePlanError     its stored plan does not fit it any more
          +-- StoreError         the storage did not take or give an object
               +-- LostObjectError    it is gone, or not what was stored
"""

from __future__ import annotations

from collections.abc import Iterable

from django.core.exceptions import ImproperlyConfigured


class SitemapsPlusError(Exception):
    """Anything that goes wrong here; never raised itself."""


class ConfigurationError(SitemapsPlusError, ImproperlyConfigured):
    """A setting or a source that cannot work as it is."""


class AlreadyRegistered(ConfigurationError):
    """The name of the section is taken."""


class NotRegistered(SitemapsPlusError, LookupError):
    """No section has this name."""


class BuildError(SitemapsPlusError):
    """A build did not do what it was asked for; what was published before stays."""


class SourceError(BuildError):
    """A source could not be read: its queryset, its database or its code failed.

    Attributes:
        is_outage: whether its database was out of reach, so that a later try may do.
    """

    def __init__(self, message: str = "", *, is_outage: bool = False) -> None:
        super().__init__(message)
        self.is_outage = is_outage


class StalePlanError(SourceError):
    """The bounds of the stored plan are no keys of the source any more."""


class StoreError(BuildError):
    """The storage failed."""


class LostObjectError(StoreError):
    """An object is gone, or is not what was stored; to ask again is of no use."""


class EngineError(SitemapsPlusError):
    """An engine was not told. Its text is for people, and holds no secrets."""

    def __str__(self) -> str:
        """Return its words, as far as every database, log and terminal takes them."""
        text = super().__str__().replace("\0", "")
        return text.encode(errors="replace").decode()


class RetryLater(EngineError):
    """An engine cannot take anything now: it is away, busy, or asks for patience.

    Attributes:
        after: seconds that it asks to wait, or None.
    """

    def __init__(self, message: str, after: float | None = None) -> None:
        super().__init__(message)
        self.after = after


class EngineRefused(EngineError):
    """An engine takes nothing until somebody has set something right, as a key."""


class BatchRejected(EngineError):
    """Something in a batch is wrong; told in smaller ones, all but that arrives.

    Attributes:
        targets: those that are wrong, where the engine has accepted all others of the
            batch; none where it does not say, or has accepted nothing.
    """

    def __init__(self, message: str = "", targets: Iterable[str] = ()) -> None:
        super().__init__(message)
        self.targets = frozenset(targets)
