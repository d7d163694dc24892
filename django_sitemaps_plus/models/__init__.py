"""Models: what is published, what has changed, and what is to be done."""

from __future__ import annotations

from .base import Row, RowQuerySet, own_alias
from .changes import Change
from .claims import MAX_ATTEMPTS, MAX_DEATHS, Hold, State
from .deliveries import Delivery, EngineHost
from .exclusions import Exclusion
from .figures import Dashboard, Figure
from .pages import Page, PageQuerySet
from .publications import Publication, UrlChanges, has_subscribers
from .sections import INDEX, Section
from .workers import Worker

__all__ = [
    "INDEX",
    "MAX_ATTEMPTS",
    "MAX_DEATHS",
    "Change",
    "Dashboard",
    "Delivery",
    "EngineHost",
    "Exclusion",
    "Figure",
    "Hold",
    "Page",
    "PageQuerySet",
    "Publication",
    "Row",
    "RowQuerySet",
    "Section",
    "State",
    "UrlChanges",
    "Worker",
    "has_subscribers",
    "own_alias",
]
