"""The rows that say what is published, what has changed, and what is to be done."""

from __future__ import annotations

from .base import Row, RowQuerySet
from .changes import Change
from .deliveries import Delivery, EngineHost
from .pages import (
    INDEX,
    MAX_ATTEMPTS,
    Hold,
    Page,
    PageQuerySet,
    Section,
    State,
    own_alias,
)
from .publications import Publication, has_subscribers

__all__ = [
    "INDEX",
    "MAX_ATTEMPTS",
    "Change",
    "Delivery",
    "EngineHost",
    "Hold",
    "Page",
    "PageQuerySet",
    "Publication",
    "Row",
    "RowQuerySet",
    "Section",
    "State",
    "has_subscribers",
    "own_alias",
]
