"""The numbers that the sitemap protocol sets, each with its source."""

from __future__ import annotations

#: Entries in one sitemap, and sitemaps in one index (sitemaps.org/protocol.html,
#: "Sitemap index": "no more than 50,000"; Google, Bing and Yandex say the same).
MAX_ENTRIES = 50_000

#: Uncompressed bytes of one file, 50 MB (sitemaps.org/protocol.html).
MAX_BYTES = 52_428_800

#: The same until 2016, and sitemaps in one index until 2009.
HISTORIC_BYTES = 10_485_760
HISTORIC_SITEMAPS = 1_000

#: Characters of one URL, counted before XML escaping ("less than 2,048 characters").
MAX_URL_LENGTH = 2_047

#: The same from below (sitemaps.org's XSD, ``tLoc``).
MIN_URL_LENGTH = 12

#: Images of one entry (Google, image sitemaps).
MAX_IMAGES = 1_000

#: Articles of one news sitemap (Google, news sitemaps).
MAX_NEWS = 1_000

#: Tags of one video (Google, video sitemaps).
MAX_VIDEO_TAGS = 32


class LimitExceededError(ValueError):
    """A document would not fit into one file; one of a smaller key range does."""
