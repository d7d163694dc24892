"""Sources, as far as they work without a database."""

from __future__ import annotations
