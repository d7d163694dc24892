"""What this app costs beside django.contrib.sitemaps: ``python -m tests.benchmarks``."""

from __future__ import annotations
