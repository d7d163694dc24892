"""The example project with files of its own; else exactly as it ships."""

import os

from example_project.settings import *  # noqa: F403

MEDIA_ROOT = os.environ["ACCEPTANCE_MEDIA_ROOT"]

# So that no test waits for the lease of a worker that it has killed.
SITEMAPS_PLUS = {**SITEMAPS_PLUS, "LEASE_SECONDS": 3}  # noqa: F405
for _entry in CELERY_BEAT_SCHEDULE.values():  # noqa: F405
    _entry["schedule"] = min(_entry["schedule"], 2)
