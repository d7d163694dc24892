"""The command line: install the packages, and compare with them."""

from __future__ import annotations

import sys

from tests.acceptance.third_party.__main__ import run

if __name__ == "__main__":
    packages = ["django-modeltranslation", "django-parler", "lxml", "wagtail"]
    sys.exit(run(f"{__package__}.comparison", f"{__package__}.settings", packages))
