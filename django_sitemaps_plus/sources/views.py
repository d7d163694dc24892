"""``ViewSource``: named URL patterns without a row behind them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import partial
from typing import Any

from django.urls import reverse

from django_sitemaps_plus.conf import Site
from django_sitemaps_plus.core.key_ranges import EVERYTHING, KeyRange

from .base import Source, at_positions, batches, positions
from .declarations import constant
from .lines import FIELDS, NAMESPACE_OF, Getter, RowRenderer
from .tally import Tally

View = str | tuple[str, dict[str, Any]]


class ItemSource(Source):
    """Items in a list, and what is said of each; pages are positions in the list.

    Each of the fields of an entry is a constant or a method that takes the item.
    """

    lastmod: Any = None
    changefreq: Any = None
    priority: Any = None
    images: Any = None
    videos: Any = None
    news: Any = None
    alternates: Any = None

    def items(self) -> Iterable[Any]:
        """Return the items, in an order that does not change by itself."""
        raise NotImplementedError

    def location(self, item: Any) -> str:
        """Return the path or URL of an item."""
        raise NotImplementedError

    @property
    def extensions(self) -> Collection[str]:  # type: ignore[override]
        """Kinds of extension element that entries may have."""
        return [kind for name, kind in NAMESPACE_OF.items() if getattr(self, name)]

    def first_keys(
        self, step: int, site: Site, key_range: KeyRange = EVERYTHING
    ) -> Iterator[str]:
        """Yield the position of each ``step``-th item of a range."""
        return positions(self.items(), step, key_range)

    def count(self, key_range: KeyRange, site: Site) -> int:
        """Return how many items a range has."""
        return sum(1 for _ in at_positions(self.items(), key_range))

    def chunks(self, key_range: KeyRange, site: Site, tally: Tally) -> Iterator[str]:
        """Yield the lines of a page, many at a time, and count them in the tally."""
        items = at_positions(self.items(), key_range)
        renderer = RowRenderer(self.getters(), site.origin, self.on_error == "raise")
        return batches(items, partial(renderer.render, tally=tally))

    def getters(self) -> dict[str, Getter]:
        """Return what takes each field of an entry from an item."""
        values = {name: getattr(self, name) for name in FIELDS}
        return {
            name: value if callable(value) else constant(value)
            for name, value in values.items()
            if value is not None
        }


class ViewSource(ItemSource):
    """Pages that are views of their own: home, about, contact.

    ``lastmod``, ``changefreq``, ``priority``, ``images``, ``videos``, ``news`` and
    ``alternates`` are each a constant or a method that takes the view as listed.

    Attributes:
        views: names of URL patterns, or pairs of a name and its keyword arguments.
    """

    views: Sequence[View] = ()

    def items(self) -> Sequence[View]:
        """Return the views."""
        return self.views

    def location(self, item: View) -> str:
        """Return the path of a view."""
        if isinstance(item, str):
            return reverse(item)
        name, arguments = item
        return reverse(name, kwargs=arguments)
