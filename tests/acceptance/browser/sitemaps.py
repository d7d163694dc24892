"""A section that has every kind of entry, on one page for crawlers."""

from collections.abc import Iterator
from datetime import UTC, date, datetime

from django_sitemaps_plus import Alternate, Entry, Image, News, Source, Video, register

MOMENT = datetime(2026, 11, 20, 9, 30, tzinfo=UTC)
LANGUAGES = ("de", "fr", "ar", "zh-Hant")


@register("everything")
class EverythingSource(Source):
    """More entries than a page for people has."""

    def entries(self, origin: str) -> Iterator[Entry]:
        yield Entry(
            f"{origin}/dams/1/",
            lastmod=MOMENT,
            images=[Image(f"{origin}/media/{name}.jpg") for name in "ab"],
            videos=[
                Video(
                    thumbnail_loc=f"{origin}/media/v.jpg",
                    title="How the dam opens",
                    description="Water at last",
                    player_loc=f"{origin}/player/1/",
                )
            ],
            news=News(
                name="The Paper",
                language="en",
                publication_date=MOMENT,
                title="The dam is open, and all come to see it",
            ),
            alternates=[
                Alternate("en", f"{origin}/dams/1/"),
                *[Alternate(it, f"{origin}/{it}/dams/1/") for it in LANGUAGES],
                Alternate("x-default", f"{origin}/dams/1/"),
            ],
        )
        yield Entry(
            f"{origin}/{'القاهرة' * 9}/?page=2",
            lastmod=date(2026, 1, 2),
            changefreq="weekly",
            priority=0.5,
        )
        for number in range(598):
            yield Entry(f"{origin}/things/{number}-with-a-name/", lastmod=MOMENT)
