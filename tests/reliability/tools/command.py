"""``build_sitemaps`` of the test project, with products; run as a program."""

from __future__ import annotations

import sys

import django
from django.core.management import execute_from_command_line


def main() -> None:
    """Build."""
    django.setup()
    from django_sitemaps_plus.registry import registry

    from .shop import PlainSource

    registry.register("products", PlainSource)
    execute_from_command_line(["manage.py", "build_sitemaps", *sys.argv[1:]])


if __name__ == "__main__":
    main()
