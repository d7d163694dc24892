"""What this app costs beside others of its kind; run this package to see."""

from __future__ import annotations
