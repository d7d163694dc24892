"""What every source is: something that can be cut into pages and read page by page."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from copy import copy
from itertools import chain, islice
from typing import Any, ClassVar, Literal, Self

from django.db.models import Model

from django_sitemaps_plus.conf import Site
from django_sitemaps_plus.core.entries import Entry
from django_sitemaps_plus.core.key_ranges import EVERYTHING, KeyRange, most_entries
from django_sitemaps_plus.core.limits import MAX_ENTRIES
from django_sitemaps_plus.core.locations import absolute_url
from django_sitemaps_plus.core.renderers import entry_line
from django_sitemaps_plus.core.renderers.extensions import NAMESPACES
from django_sitemaps_plus.exceptions import SourceError, StalePlanError
from django_sitemaps_plus.outages import is_passing

from .keyset import KeySpace
from .tally import Tally

#: Lines that are rendered, hashed and compressed at once: small enough for the
#: processor's cache, large enough that the work per chunk does not count.
CHUNK_ROWS = 500

#: Rows of a source that is paged by position; a generator without end has more.
MAX_POSITIONS = 10_000_000


class Source:
    """Says which entries a section has.

    A subclass yields them from :meth:`entries`, up to 10,000,000. Such a section is
    paged by position: page two begins where page one is full. :class:`ModelSource`
    pages by key instead, which costs less and keeps pages stable.

    One instance serves every request and build, so it keeps no state of either.

    Attributes:
        limit: entries a page should hold, at most 50,000.
        on_error: ``"skip"`` leaves out what cannot be listed and counts it;
            ``"raise"`` lets the error stop the page.
        max_age: seconds after which a refresh renders its pages again unasked; None
            for never, where changes are noticed otherwise.
        using: alias of the database to read; None for the one that is written to.
    """

    limit: int = 10_000
    on_error: Literal["skip", "raise"] = "skip"
    max_age: int | None = 3_600
    using: str | None = None

    _is_roomy = False

    #: Kinds of extension element that entries may have; see ``NAMESPACES``.
    extensions: ClassVar[Collection[str]] = tuple(NAMESPACES)

    def entries(self, origin: str) -> Iterable[Entry]:
        """Yield every entry, in an order that does not change by itself.

        Args:
            origin: scheme and host of the site, such as ``https://shop.example``.
        """
        raise NotImplementedError(f"{type(self).__qualname__} does not say its entries")

    @property
    def has_own_paging(self) -> bool:
        """Whether its own code says what is on a page; two of its pages never merge."""
        return False

    @property
    def rows_per_page(self) -> int:
        """Rows that fill a page."""
        return self.limit

    @property
    def planned_rows(self) -> int:
        """Rows that a first plan gives a page.

        Where keys do not grow, rows come in on any page, so each is left some room.
        """
        space = self.key_space()
        if space is None or space.grows:
            return self.rows_per_page
        return max(1, self.rows_per_page * 4 // 5)

    @property
    def max_entries(self) -> int:
        """Entries above which a page is too full; growth up to it needs no new plan."""
        return MAX_ENTRIES if self._is_roomy else most_entries(self.limit)

    def roomy(self) -> Self:
        """Return a source of the same entries that fills pages as far as allowed."""
        other = copy(self)
        other._is_roomy = True
        return other

    @property
    def tracked_model(self) -> type[Model] | None:
        """The model whose saves concern its rows; None where there is none."""
        return None

    def key_space(self) -> KeySpace | None:
        """Return what orders its keys; None where pages are positions."""
        return None

    def first_keys(
        self, step: int, site: Site, key_range: KeyRange = EVERYTHING
    ) -> Iterator[str]:
        """Yield the key of each ``step``-th row of a range, from the first, as text."""
        yield from positions(self.entries(site.origin), step, key_range)

    def count(self, key_range: KeyRange, site: Site) -> int:
        """Return how many rows a range has."""
        return sum(1 for _ in at_positions(self.entries(site.origin), key_range))

    def chunks(self, key_range: KeyRange, site: Site, tally: Tally) -> Iterator[str]:
        """Yield the lines of a page, many at a time, and count them in the tally."""
        entries = at_positions(self.entries(site.origin), key_range)
        while lines := [
            self._line(entry, site, tally) for entry in islice(entries, CHUNK_ROWS)
        ]:
            yield "".join(lines)

    def lines_by_key(
        self, keys: Collection[Any], site: Site, tally: Tally
    ) -> Iterator[tuple[str, str]]:
        """Yield each row of some keys that is listed: its key, as text, and lines.

        Nothing for a source whose pages are positions: it has no keys.
        """
        return iter(())

    def _line(self, entry: Entry, site: Site, tally: Tally) -> str:
        try:
            absolute_url(entry.loc, site.origin)
            line = entry_line(entry)
        except Exception as error:
            if self.on_error == "raise" or is_passing(error):
                raise
            tally.skip(ascii(entry)[:200], error)
            return ""
        tally.entries += 1
        tally.newest = max(tally.newest, entry.lastmod_text or "")
        return line

    def __repr__(self) -> str:
        return f"<{type(self).__module__}.{type(self).__qualname__}>"


def at_positions(rows: Iterable[Any], key_range: KeyRange) -> Iterator[Any]:
    """Return the rows whose positions, counted from 0, are in the range.

    Raises:
        StalePlanError: a bound is no position: the source had keys once.
        SourceError: later, where there are more than MAX_POSITIONS.
    """
    low = position(key_range.low or "0")
    if key_range.high is not None:
        return islice(rows, low, position(key_range.high))
    remaining = iter(rows)
    most = max(low, MAX_POSITIONS)
    return chain(islice(remaining, low, most), _end_of(remaining))


def _end_of(rows: Iterator[Any]) -> Iterator[Any]:
    """Yield nothing.

    Raises:
        SourceError: there are more rows.
    """
    for _ in rows:
        raise SourceError(
            f"there are more than {MAX_POSITIONS:,} rows without keys. Does the "
            "generator end? So many rows need a model and its key."
        )
    yield from ()


def position(bound: str) -> int:
    """Return the bound of a source that is paged by position.

    Raises:
        StalePlanError: it is none.
    """
    if not (bound.isascii() and bound.isdecimal()):
        raise StalePlanError(
            f"{bound!r} is no position: the section was paged by key when the plan "
            "was made"
        )
    return int(bound)


def positions(
    rows: Iterable[Any], step: int, key_range: KeyRange = EVERYTHING
) -> Iterator[str]:
    """Yield the position of each ``step``-th row of a range, as text."""
    first = position(key_range.low or "0")
    for number, _ in enumerate(at_positions(rows, key_range)):
        if number % step == 0:
            yield str(first + number)


def batches(rows: Iterable[Any], make: Callable[[list[Any]], str]) -> Iterator[str]:
    """Yield the text of each batch of rows."""
    iterator = iter(rows)
    while batch := list(islice(iterator, CHUNK_ROWS)):
        yield make(batch)
