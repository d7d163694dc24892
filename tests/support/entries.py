"""The line of an entry, written in the slow and obvious way."""

from __future__ import annotations

from django_sitemaps_plus.core.entries import Entry, format_priority
from django_sitemaps_plus.core.renderers.extensions import extension_elements
from django_sitemaps_plus.core.xml import escape


def entry_line(entry: Entry) -> str:
    """Return the ``<url>`` of an entry and its line end."""
    line = f"<url><loc>{escape(entry.loc)}</loc>"
    if entry.lastmod_text is not None:
        line += f"<lastmod>{entry.lastmod_text}</lastmod>"
    if entry.changefreq is not None:
        line += f"<changefreq>{entry.changefreq}</changefreq>"
    if entry.priority is not None:
        line += f"<priority>{format_priority(entry.priority)}</priority>"
    parts = entry.images, entry.videos, entry.news, entry.alternates
    return f"{line}{extension_elements(*parts)}</url>\n"
