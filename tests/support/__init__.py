"""What tests share: fixtures, servers, the shop, documents and faults."""

from __future__ import annotations
