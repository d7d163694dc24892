"""Broken files: for each rule one file that breaks it, and breaks nothing else."""

from __future__ import annotations

import gzip
from collections.abc import Iterable
from dataclasses import dataclass

from tests.support.validation import INDEX, PAGE, XMLNS, entry, index, urlset


@dataclass(frozen=True)
class Broken:
    """A file, what it is called, and where its problem is."""

    content: bytes
    line: int = 3
    name: str = PAGE  # its URL
    listed: bool = False  # whether an index lists it


def of(*entries: str, line: int = 3, name: str = PAGE) -> Broken:
    """Return an urlset of entries, one a line."""
    return Broken(urlset(*entries), line, name)


def loc(url: str) -> Broken:
    """Return an urlset with one location."""
    return of(f"<url><loc>{url}</loc></url>")


def within(inside: str) -> Broken:
    """Return an urlset with an entry that has more in it."""
    return of(entry("/a", inside))


def image(inside: str) -> Broken:
    """Return an urlset with an image."""
    return within(f"<image:image>{inside}</image:image>")


IMAGE = "<image:loc>https://cdn.example/a.jpg</image:loc>"

_VIDEO = {
    "thumbnail_loc": "https://cdn.example/a.jpg",
    "title": "T",
    "description": "D",
    "content_loc": "https://cdn.example/a.mp4",
}


def _elements(
    prefix: str, given: dict[str, str], but: tuple[str, ...]
) -> dict[str, str]:
    return {
        name: f"<{prefix}:{name}>{value}</{prefix}:{name}>"
        for name, value in given.items()
        if name not in but
    }


def video(*but: str, more: str = "", **values: str) -> Broken:
    """Return an urlset with a video of other values, and without some."""
    parts = "".join(_elements("video", _VIDEO | values, but).values())
    return within(f"<video:video>{parts}{more}</video:video>")


_NEWS = {
    "name": "The Paper",
    "language": "en",
    "publication_date": "2026-11-20T09:30:00+00:00",
    "title": "Dam opens",
}


def article(*but: str, more: str = "", **values: str) -> str:
    """Return the news of an entry with other values, and without some."""
    parts = _elements("news", _NEWS | values, but)
    publication = parts.pop("name", "") + parts.pop("language", "")
    if "publication" not in but:
        publication = f"<news:publication>{publication}</news:publication>"
    return f"<news:news>{publication}{''.join(parts.values())}{more}</news:news>"


def news(*but: str, more: str = "", **values: str) -> Broken:
    """Return an urlset with an article."""
    return within(article(*but, more=more, **values))


def link(language: str = "de", href: str = "/a", rel: str = "alternate") -> str:
    """Return a language version."""
    url = f"https://shop.example{href}" if href.startswith("/") else href
    return f'<xhtml:link rel="{rel}" hreflang="{language}" href="{url}"/>'


def bomb() -> bytes:
    """Return gzip data of 60 MB, about a thousandth of it."""
    return gzip.compress(urlset(*[" " * 1_000_000] * 60))


def many(count: int) -> Iterable[str]:
    """Yield entries."""
    return (entry(f"/{number}") for number in range(count))


GZIPPED = gzip.compress(urlset(entry("/a")), mtime=0)
HEAD = '<?xml version="1.0" encoding="UTF-8"?>\n'
BODY = f'<urlset xmlns="{XMLNS}">\n{entry("/a")}</urlset>'

CORPUS: dict[str, Broken] = {
    # The file
    "gzip-damaged": Broken(GZIPPED[:20] + b"\xff\xff\xff" + GZIPPED[23:], 0),
    "gzip-truncated": Broken(GZIPPED[:-9], 4),
    "gzip-twice": Broken(gzip.compress(GZIPPED), 0),
    "gzip-missing": Broken(urlset(entry("/a")), 0, f"{PAGE}.gz"),
    "file-size": Broken(bomb(), 55),
    "file-empty": Broken(b" \n\n", 0),
    "utf-8": Broken((HEAD + BODY).encode().replace(b"/a", b"/\xe4"), 3),
    "leading-whitespace": Broken(f"\n{HEAD}{BODY}".encode(), 2),
    "html": Broken(b"<!DOCTYPE html><html><body>Not here</body></html>", 0),
    "doctype": Broken(f'{HEAD}<!DOCTYPE urlset SYSTEM "a.dtd">{BODY}'.encode(), 2),
    "entity": Broken(f"{HEAD}{BODY}".replace("/a", "/&nbsp;").encode(), 3),
    "xml": Broken(f"{HEAD}{BODY}".replace("/a", "/?a&b=1").encode(), 3),
    "prefix": Broken(
        f"{HEAD}{BODY}".replace("</url>", "<image:image/></url>").encode(), 3
    ),
    "root": Broken(HEAD.encode() + b"<sitemaps/>", 2),
    "namespace": Broken(BODY.replace("http:", "https:", 1).encode(), 1),
    "extension-namespace": Broken(
        urlset(entry("/a", "<image:image/>")).replace(
            b"http://www.google.com/schemas/sitemap-image",
            b"https://www.google.com/schemas/sitemap-image",
        )
    ),
    "entry-size": within("<image:image/>" * 20_001),
    "entries-none": Broken(urlset(), 0),
    "entries-many": of(*many(50_001), line=50_003),
    # An index
    "index-many": Broken(
        index(*[f"/sitemap-a-{n}.xml" for n in range(50_001)]), 50_003, INDEX
    ),
    "index-nested": Broken(index("/sitemap-b.xml"), 2, listed=True),
    "index-self": Broken(index("/sitemap.xml"), 3, INDEX),
    # Tags
    "tag-unknown": within("<last_mod>2026-11-20</last_mod>"),
    "tag-duplicate": within("<priority>0.5</priority><priority>0.6</priority>"),
    "tag-empty": within("<lastmod></lastmod>"),
    "tag-ignored": image(f"{IMAGE}<image:caption>A</image:caption>"),
    # Locations
    "loc-missing": of("<url><priority>0.5</priority></url>"),
    "loc-relative": loc("/a"),
    "loc-invalid": loc("https://me:secret@shop.example/a"),
    "loc-encoding": loc("https://shop.example/größe a"),
    "loc-whitespace": loc("\nhttps://shop.example/a "),
    "loc-fragment": loc("https://shop.example/a#b"),
    "loc-session": loc("https://shop.example/a;jsessionid=1A"),
    "loc-duplicate": of(entry("/a"), entry("/a"), line=4),
    "loc-host": loc("https://other.example/a"),
    "loc-www": loc("https://www.shop.example/a"),
    "loc-protocol": loc("http://shop.example/a"),
    "loc-directory": of(entry("/a"), name="https://shop.example/catalog/sitemap.xml"),
    # Values
    "lastmod-format": within("<lastmod>20.11.2026</lastmod>"),
    "lastmod-zone": within("<lastmod>2026-11-20T10:00:00</lastmod>"),
    "lastmod-future": within("<lastmod>2027-01-01</lastmod>"),
    "changefreq": within("<changefreq>Daily</changefreq>"),
    "priority": within("<priority>1.5</priority>"),
    # Images
    "image-loc-missing": image(""),
    "image-loc": image("<image:loc>/a.jpg</image:loc>"),
    # Videos
    "video-thumbnail-loc-missing": video("thumbnail_loc"),
    "video-title-missing": video("title"),
    "video-description-missing": video("description"),
    "video-location-missing": video("content_loc"),
    "video-url": video(player_loc="player"),
    "video-title": video(title="T" * 101),
    "video-description": video(description="D" * 2_049),
    "media-signed": image(
        "<image:loc>https://b.s3.amazonaws.com/a.jpg?X-Amz-Expires=3600&amp;"
        "X-Amz-Signature=0f</image:loc>"
    ),
    "video-duration": video(duration="28801"),
    "video-restriction": video(
        more='<video:restriction relationship="deny">FR UK</video:restriction>'
    ),
    "video-date": video(publication_date="yesterday"),
    # News
    "news-publication-missing": news("publication", "name", "language"),
    "news-name-missing": news("name"),
    "news-language-missing": news("language"),
    "news-publication-date-missing": news("publication_date"),
    "news-title-missing": news("title"),
    "news-language": news(language="en-us"),
    "news-date": news(publication_date="2026-11-20 09:30"),
    "news-old": news(publication_date="2026-11-17"),
    # Language versions
    "alternate-incomplete": within('<xhtml:link rel="alternate" hreflang="de"/>'),
    "alternate-rel": within(link(rel="canonical")),
    "alternate-hreflang": within(link("de_DE")),
    "alternate-href": within(link() + link("fr", "fr/a")),
    "alternate-duplicate": within(link() + link(href="/b")),
    "alternate-self": within(link("fr", "/fr/a")),
    "alternate-reciprocal": of(
        entry("/a", link() + link("fr", "/fr/a")), entry("/fr/a", link("fr", "/fr/a"))
    ),
}
