"""Tests of the example project over HTTP, as a crawler meets it."""

from __future__ import annotations
