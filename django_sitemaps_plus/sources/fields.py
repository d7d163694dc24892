"""Elements: how each field of an entry is written."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from django.utils.translation import override

from django_sitemaps_plus.core import documents
from django_sitemaps_plus.core.entries import (
    Alternate,
    News,
    Video,
    check_all,
    check_changefreq,
    check_priority,
    format_priority,
)
from django_sitemaps_plus.core.locations import absolute_url
from django_sitemaps_plus.core.xml import escape

from .columns import (
    CodedColumn,
    Column,
    Doubtful,
    Failed,
    LocationColumn,
    NoLocationError,
    Problem,
    Values,
    attempt,
    constant,
    doubts,
)
from .dates import lastmod_text
from .images import image_column
from .quoting import location_quoting

#: The namespaces that the extension fields need.
NAMESPACE_OF = {
    "images": "image",
    "videos": "video",
    "news": "news",
    "alternates": "xhtml",
}


def location_column(
    origin: str | None, path: Callable[[Any], Any] = lambda value: value
) -> LocationColumn:
    """Return what writes the paths of values on an origin; with None, any URL."""
    before = origin or ""

    def write(value: Any) -> str:
        location = path(value)
        if location is None:
            raise NoLocationError("it has no location")
        # A location may be a lazy reverse(), or an object of a library for URLs.
        return escape(absolute_url(str(location), origin)).removeprefix(before)

    quote = location_quoting(origin)
    return LocationColumn(name="location", write=write, before=before, quote=quote)


def _written(write: Callable[[Any], str], values: Sequence[Any]) -> str:
    """Return the elements of values, with what is doubtful in them."""
    text = "".join(map(write, values))
    words = [it.doubt for it in values if it.doubt]
    if not words:
        return text
    doubtful = Doubtful(text)
    doubtful.doubt = "; ".join(words)
    return doubtful


class _AlternatesColumn(Column):
    """Writes language versions; a bad one is left out, and the others stay."""

    def texts(self, values: Sequence[Any], problems: list[Problem]) -> list[str]:
        def written(value: Any) -> list[Any]:
            return [attempt(self.write, one) for one in tuple(value or ())]

        texts = []
        last: Any = None
        links: Any = ()
        for row, value in enumerate(values):
            if value is not last:  # rows of one item have the same
                last, links = value, attempt(written, value)
            if type(links) is Failed:
                problems.append((row, self.name, links.error))
                texts.append("")
                continue
            bad = [link.error for link in links if type(link) is Failed]
            problems += [(row, "an alternate", error) for error in bad]
            good = [link for link in links if isinstance(link, str)]
            problems += doubts(row, self.name, good)
            texts.append("".join(good))
        return texts


def _alternate(value: Any) -> str:
    """Write one language version, which may be a pair of hreflang and URL as well."""
    if isinstance(value, tuple | list):  # a list where JSON has it
        value = Alternate(*value)
    if not isinstance(value, Alternate):
        raise TypeError(f"{value!r} is not an Alternate")
    return _written(documents.alternate_element, [value])


def _simple(name: str, write: Callable[[Any], str]) -> Column:
    return Column(name=name, write=write, before=f"<{name}>", after=f"</{name}>")


#: The writers of all fields but the location; images without an origin.
COLUMNS: dict[str, Column] = {
    "lastmod": _simple("lastmod", lastmod_text),
    "changefreq": _simple("changefreq", check_changefreq),
    "priority": _simple("priority", lambda it: format_priority(check_priority(it))),
    "images": image_column(""),
    "videos": CodedColumn(
        name="videos",
        write=lambda it: _written(
            documents.video_element,
            check_all(Video, (it,) if isinstance(it, Video) else it),
        ),
    ),
    "news": CodedColumn(
        name="news",
        write=lambda it: _written(documents.news_element, check_all(News, [it])),
    ),
    "alternates": _AlternatesColumn(name="alternates", write=_alternate),
}

#: The mark of each entry of a mobile sitemap.
MOBILE = Values(
    constant(True), Column(name="mobile", write=lambda value: "<mobile:mobile/>")
)

#: The fields of an entry, in the order of the element.
FIELDS = ("location", *COLUMNS)


_TITLE = _simple("title", lambda it: escape(" ".join(str(it).split())))


@dataclass(frozen=True, slots=True)
class Titles(Values):
    """The titles of rows in a language, for people: no sitemap has them."""

    column: Column = _TITLE
    language: str = ""

    def texts(self, rows: Sequence[Any], problems: list[Problem]) -> list[str]:
        """Return the title of each row; a text may be translated when it is written."""
        with override(self.language):
            return Values.texts(self, rows, problems)


def columns_on(origin: str | None) -> dict[str, Column]:
    """Return what writes the values of each field on an origin."""
    return COLUMNS | {"images": image_column(origin or "")}
