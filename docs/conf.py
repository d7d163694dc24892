"""How Sphinx builds these pages."""

from __future__ import annotations

import tomllib
from pathlib import Path

_PYPROJECT = Path(__file__).parent.parent / "pyproject.toml"

project = "django_sitemaps_plus"
author = "the django-sitemaps-plus contributors"
copyright = author  # noqa: A001 - the name that Sphinx gives it
release = tomllib.loads(_PYPROJECT.read_text("utf-8"))["project"]["version"]

extensions = ["myst_parser"]
source_suffix = {".md": "markdown"}
exclude_patterns = ["_build"]

# Links such as checks.md#e001 lead to headings, here as on any forge.
myst_heading_anchors = 3

html_theme = "furo"
html_title = f"{project} {release}"
