"""Where the public names are."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture
def public(media_root: Path) -> Path:
    return media_root / "sitemaps" / "public"
