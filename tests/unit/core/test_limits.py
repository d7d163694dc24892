"""The protocol's numbers."""

from __future__ import annotations

from django_sitemaps_plus.core import limits


def test_they_are_those_of_the_protocol():
    """sitemaps.org and Google's reference set them; none is ours to change."""
    assert limits.MAX_ENTRIES == 50_000
    assert limits.MAX_BYTES == 50 * 1024 * 1024
    assert limits.MAX_URL_LENGTH == 2_047
    assert limits.MAX_IMAGES == 1_000
    assert limits.MAX_VIDEO_TAGS == 32
