"""Settings of a worker that a test starts: the tests' own, and what the test says."""

import json
import os

from .settings import *  # noqa: F403

globals().update(json.loads(os.environ["TEST_SETTINGS"]))
