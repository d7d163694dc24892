"""The program of a worker that is a command, with the sections of a test."""

import sys

import django
from django.core.management import call_command

django.setup()

from . import sections  # noqa: E402, F401 - which registers them

call_command(*sys.argv[1:])
