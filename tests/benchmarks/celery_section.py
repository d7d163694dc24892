"""The section of the benchmark's Celery workers, which import this when they start."""

from __future__ import annotations

from django.conf import settings

from django_sitemaps_plus import registry

from .sources import sized_source

registry.register("products", sized_source(*settings.BENCHMARK_SECTION))
