"""Found by autodiscovery: registers the section."""

from __future__ import annotations

from tests.benchmarks import celery_section as celery_section
