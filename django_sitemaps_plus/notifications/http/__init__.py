"""HTTP requests to engines: the only part of this app that connects to them."""

from __future__ import annotations

from .answers import Answer, accepted
from .client import request

__all__ = ["Answer", "accepted", "request"]
