"""Where the public names are."""

from pathlib import Path

import pytest


@pytest.fixture
def public(media_root: Path) -> Path:
    return media_root / "sitemaps" / "public"
