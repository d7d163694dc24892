"""Found by autodiscovery: registers the sections of the test."""

from __future__ import annotations

from tests.support.servers import sections as sections
