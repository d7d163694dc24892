"""The views, over Django's test client."""

from __future__ import annotations
