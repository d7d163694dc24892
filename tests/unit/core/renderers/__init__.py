"""Documents, compared with files in tests/golden."""

from __future__ import annotations
