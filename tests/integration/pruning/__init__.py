"""Pruning: what nobody needs goes, in time; what anybody may need stays."""

from __future__ import annotations
