"""A Django project that shows django_sitemaps_plus at work on the world's cities."""

from __future__ import annotations

import os

# So that what the web site sends goes to the broker of this app. With no broker there
# are no messages, and Celery need not be installed.
if os.environ.get("CELERY_BROKER_URL") or os.environ.get("REDIS_URL"):
    from .worker import app as celery_app

    __all__ = ["celery_app"]
