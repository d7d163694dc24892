"""The example project with files of its own; else exactly as it ships."""

from __future__ import annotations

import os

from example_project.settings import *  # noqa: F403

MEDIA_ROOT = os.environ["ACCEPTANCE_MEDIA_ROOT"]
