"""The admin: a dashboard, and what editors see and do on their own objects."""

from __future__ import annotations

from .dashboard import DashboardAdmin
from .objects import ExclusionAdmin, SitemapMixin

__all__ = ["DashboardAdmin", "ExclusionAdmin", "SitemapMixin"]
