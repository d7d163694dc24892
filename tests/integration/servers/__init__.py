"""What the servers of tests/servers promise to tests."""

from __future__ import annotations
