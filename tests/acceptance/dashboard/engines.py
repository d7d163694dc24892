"""Engines that accept everything: one takes URLs, the other feeds."""

from django_sitemaps_plus.notifications import Takes
from django_sitemaps_plus.testing import RecordingEngine


class UrlEngine(RecordingEngine):
    """An engine that takes URLs."""


class FeedEngine(RecordingEngine):
    takes = Takes.FEEDS
