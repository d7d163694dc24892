"""The rows that say what is published: sections, and the pages of each."""

from __future__ import annotations

from django.db import models

#: The name under which a site's index is kept: no section of a user can have it.
INDEX = ""


class PageQuerySet(models.QuerySet["Page"]):
    """Pages by what the outside asks for."""

    def of(self, site: str, section: str) -> PageQuerySet:
        """Return the pages of one section."""
        return self.filter(section__site=site, section__name=section)

    def listed(self) -> PageQuerySet:
        """Return the pages that an index names: those with entries."""
        return self.filter(entries__gt=0).exclude(object="")


class Section(models.Model):
    """A registered name of one site, once it was built; or, with no name, the index."""

    site = models.CharField(max_length=64)
    name = models.CharField(max_length=64, blank=True)
    #: Raised by every publication; who read an older one publishes nothing.
    version = models.PositiveBigIntegerField(default=0)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["site", "name"], name="sitemaps_plus_section_key"
            )
        ]

    def __str__(self) -> str:
        return f"{self.site}: {self.name or 'index'}"


class Page(models.Model):
    """One sitemap file of a section: its key range and the object it points to."""

    section = models.ForeignKey(Section, models.CASCADE, related_name="pages")
    number = models.PositiveIntegerField()  # 1 and on; the index is page 0 of its own
    # Bounds as text, since keys have any type; None is infinity, "" may be a key.
    low = models.TextField(null=True)  # noqa: DJ001
    high = models.TextField(null=True)  # noqa: DJ001
    #: Name in storage; "" for a page without entries.
    object = models.CharField(max_length=255, blank=True)
    entries = models.PositiveIntegerField(default=0)
    skipped = models.PositiveIntegerField(default=0)  # rows that could not be listed
    dropped = models.PositiveIntegerField(default=0)  # values left out of their entry
    plain_size = models.PositiveBigIntegerField(default=0)  # bytes
    gzip_size = models.PositiveBigIntegerField(default=0)  # bytes
    plain_hash = models.CharField(max_length=64, blank=True)  # SHA-256, hexadecimal
    gzip_hash = models.CharField(max_length=64, blank=True)  # the same of the object
    lastmod = models.DateTimeField(null=True)  # what the index says; it never falls
    published_at = models.DateTimeField(null=True)  # when the pointer was set

    objects = PageQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["section", "number"], name="sitemaps_plus_page_number"
            )
        ]

    def __str__(self) -> str:
        return f"page {self.number} of {self.section_id}"
