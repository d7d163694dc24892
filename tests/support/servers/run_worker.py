"""The program of a worker without a broker: ``run_sitemaps`` with a test's sections."""

from __future__ import annotations

import sys

import django
from django.core.management import call_command

django.setup()

from . import sections  # noqa: E402, F401 - which registers them

call_command("run_sitemaps", *sys.argv[1:])
