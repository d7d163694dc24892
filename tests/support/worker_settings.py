"""Settings of a worker that a test starts: the tests' own, and what the test says."""

from __future__ import annotations

import json
import os

from .settings import *  # noqa: F403

globals().update(json.loads(os.environ["TEST_SETTINGS"]))
