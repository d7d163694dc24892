"""Plans of a section: numbering, replanning, splits and merges."""

from __future__ import annotations
