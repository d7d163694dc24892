"""Lines: write each row as an entry, and count what cannot be listed."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Protocol

from django.utils.functional import Promise

from django_sitemaps_plus.core.entries import (
    Alternate,
    Video,
    check_all,
    check_changefreq,
    check_images,
    check_news,
    check_priority,
    format_priority,
)
from django_sitemaps_plus.core.locations import absolute_url
from django_sitemaps_plus.core.renderers import url_line
from django_sitemaps_plus.core.renderers.extensions import extension_elements
from django_sitemaps_plus.outages import is_passing

from .dates import lastmod_text

logger = logging.getLogger(__name__)

#: Rows that are rendered, hashed and compressed at once: small enough for the
#: processor's cache, large enough that the work per chunk does not count.
CHUNK_ROWS = 500

#: Problems of one page that are named one by one; the rest is only counted.
MAX_NAMED = 20

#: What a source may say of an entry, in the order of the element.
FIELDS = (
    "location",
    "lastmod",
    "changefreq",
    "priority",
    "images",
    "videos",
    "news",
    "alternates",
)

#: The namespaces that the extension fields need.
NAMESPACE_OF = {
    "images": "image",
    "videos": "video",
    "news": "news",
    "alternates": "xhtml",
}

Getter = Callable[[Any], Any]


@dataclass(slots=True)
class Tally:
    """Counts of one page, filled while it is rendered.

    Attributes:
        section: name of the section, for the log.
        entries: entries written.
        skipped: rows left out, since no location could be written.
        dropped: values left out of their entry.
        newest: the latest lastmod as W3C text, or ``""``.
        problems: messages about the first of them.
    """

    section: str
    entries: int = 0
    skipped: int = 0
    dropped: int = 0
    newest: str = ""
    problems: list[str] = field(default_factory=list)

    def skip(self, row: str, error: Exception) -> None:
        """Count a row that is left out, and log why."""
        self.skipped += 1
        self._name(f"{row} left out: {_reason(error)}", "row_skipped")

    def drop(self, row: str, name: str, error: Exception) -> None:
        """Count a value that is left out, and log why."""
        self.dropped += 1
        self._name(f"{row} listed without {name}: {_reason(error)}", "value_dropped")

    def _name(self, problem: str, action: str) -> None:
        if len(self.problems) >= MAX_NAMED:
            return
        self.problems.append(problem)
        extra = {"action": action, "section": self.section}
        logger.warning("section=%s %s", self.section, problem, extra=extra)


def _reason(error: Exception) -> str:
    try:
        # Lone surrogates in the data would break the log's own encoding.
        message = str(error).encode("ascii", "backslashreplace").decode()
    except Exception:  # noqa: BLE001 - the error's class is the user's code too
        message = "an error without words"
    return f"{type(error).__name__}: {message}"[:300]


class FastLines(Protocol):
    """Renders many rows at once, or declines."""

    def __call__(self, rows: Sequence[Any], tally: Tally) -> str | None:
        """Return the lines of all rows; None where a value needs a closer look."""


@dataclass(frozen=True, slots=True)
class RowRenderer:
    """Renders the rows of one source.

    Attributes:
        getters: for each field that the source has, what takes its value from a row.
        origin: scheme and host that locations belong to; None where they are absolute
            and may be elsewhere.
        raises: whether a bad row stops the page.
        fast: renders whole batches, where the source is simple enough.
    """

    getters: Mapping[str, Getter]
    origin: str | None
    raises: bool = False
    fast: FastLines | None = field(default=None, repr=False)

    def render(self, rows: Sequence[Any], tally: Tally) -> str:
        """Return the lines of the rows, in their order, and count them."""
        if self.fast is not None:
            lines = self.fast(rows, tally)
            if lines is not None:
                return lines
        return "".join([self._line(row, tally) for row in rows])

    def _line(self, row: Any, tally: Tally) -> str:
        try:
            location = _plain_text(self.getters["location"](row))
            loc = absolute_url(location, self.origin)
        except Exception as error:
            if self.raises or is_passing(error):
                raise
            tally.skip(describe(row), error)
            return ""
        lastmod = self._value("lastmod", lastmod_text, row, tally)
        line = url_line(
            loc,
            lastmod,
            self._value("changefreq", check_changefreq, row, tally),
            self._value("priority", _priority_text, row, tally),
            self._extensions(row, tally),
        )
        tally.entries += 1
        tally.newest = max(tally.newest, lastmod or "")
        return line

    def _value(
        self, name: str, check: Callable[[Any], Any], row: Any, tally: Tally
    ) -> Any:
        """Return the checked value of a field, None where it is absent or bad."""
        getter = self.getters.get(name)
        if getter is None:
            return None
        try:
            value = getter(row)
            return None if value is None else check(value)
        except Exception as error:  # noqa: BLE001 - raised there if asked for
            self._drop(row, name, error, tally)
            return None

    def _alternates(self, row: Any, tally: Tally) -> list[Alternate]:
        """Return the language versions; a bad one is left out, and the others stay."""
        found = []
        for value in self._value("alternates", tuple, row, tally) or ():
            try:
                found.append(_alternate(value))
            except Exception as error:  # noqa: BLE001 - the same
                self._drop(row, "an alternate", error, tally)
        return found

    def _drop(self, row: Any, name: str, error: Exception, tally: Tally) -> None:
        if self.raises or is_passing(error):
            raise error
        tally.drop(describe(row), name, error)

    def _extensions(self, row: Any, tally: Tally) -> str:
        if NAMESPACE_OF.keys().isdisjoint(self.getters):
            return ""
        return extension_elements(
            self._value("images", check_images, row, tally) or (),
            self._value("videos", _videos, row, tally) or (),
            self._value("news", check_news, row, tally),
            self._alternates(row, tally),
        )


def _plain_text(value: object) -> str:
    if value is None:
        raise ValueError("it has no location")
    # A location may be a lazy reverse() or a translated string.
    if not isinstance(value, str | Promise):
        raise TypeError(f"{value!r} is not a location; give a path or a URL")
    return str(value)


def _priority_text(value: object) -> str:
    return format_priority(check_priority(value))


def _videos(values: Iterable[Any]) -> tuple[Video, ...]:
    return check_all(Video, (values,) if isinstance(values, Video) else values)


def _alternate(value: Any) -> Alternate:
    """Return one language version, which may be a pair of hreflang and URL as well.

    Raises:
        TypeError, ValueError: it is not one.
    """
    if isinstance(value, Alternate):
        return value
    if not isinstance(value, tuple):
        raise TypeError(f"{value!r} is not an Alternate")
    return Alternate(*value)


def describe(row: object) -> str:
    """Return words by which a person finds a row, in ASCII and short."""
    try:
        pk = getattr(row, "pk", None)
        if pk is not None and not isinstance(row, tuple):
            return f"{type(row).__name__} {ascii(pk)[:100]}"
        return f"row {ascii(row)[:200]}"
    except Exception:  # noqa: BLE001 - naming a row runs the user's code too
        return f"row of type {type(row).__name__}"


def batches(rows: Iterable[Any], make: Callable[[list[Any]], str]) -> Iterator[str]:
    """Yield the text of each batch of rows."""
    iterator = iter(rows)
    while batch := list(islice(iterator, CHUNK_ROWS)):
        yield make(batch)
