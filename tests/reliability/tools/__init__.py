"""What the reliability tests share."""

from __future__ import annotations
