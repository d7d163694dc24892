"""Tests of promises under faults: kills, full disks, races."""

from __future__ import annotations
