"""What this app costs beside django.contrib.sitemaps; run this package to see."""

from __future__ import annotations
