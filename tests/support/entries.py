"""The line of an entry, written in the slow and obvious way."""

from django_sitemaps_plus.core.documents import (
    alternate_element,
    news_element,
    video_element,
)
from django_sitemaps_plus.core.entries import Entry, format_priority
from django_sitemaps_plus.core.xml import escape


def entry_line(entry: Entry) -> str:
    line = f"<url><loc>{escape(entry.loc)}</loc>"
    if entry.lastmod_text is not None:
        line += f"<lastmod>{entry.lastmod_text}</lastmod>"
    if entry.changefreq is not None:
        line += f"<changefreq>{entry.changefreq}</changefreq>"
    if entry.priority is not None:
        line += f"<priority>{format_priority(entry.priority)}</priority>"
    for image in entry.images:
        line += f"<image:image><image:loc>{escape(image.loc)}</image:loc></image:image>"
    line += "".join(map(video_element, entry.videos))
    if entry.news is not None:
        line += news_element(entry.news)
    return line + "".join(map(alternate_element, entry.alternates)) + "</url>\n"
