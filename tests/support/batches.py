"""Batches for engines."""

from urllib.parse import urlsplit

from django_sitemaps_plus.conf import Site
from django_sitemaps_plus.notifications import Batch

SITE = Site("default", "https://shop.example")
INDEX = "https://shop.example/sitemap.xml"


def make_batch(*targets: str, site: Site = SITE) -> Batch:
    """Return a batch of a site; without targets, of its index."""
    targets = targets or (f"{site.origin}/sitemap.xml",)
    return Batch(site=site, host=urlsplit(site.origin).netloc, targets=targets)
