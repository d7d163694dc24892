"""The URLs that rows have now."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Any

from django_sitemaps_plus.conf import Site
from django_sitemaps_plus.core.diff import urls_in
from django_sitemaps_plus.exceptions import StalePlanError
from django_sitemaps_plus.rendering import reading
from django_sitemaps_plus.sources import Source, Tally


def urls_of(section: str, keys: Iterable[str], site: Site) -> dict[str, str]:
    """Return the URLs of rows that are listed now, and for each the key of its row.

    Args:
        section: name of a section of the registry.
        keys: texts of the keys of at most some 1,000 rows.
        site: the site.

    Raises:
        SourceError: the rows cannot be read.
        DatabaseError: our own rows cannot be read either.
    """
    with reading(section, site) as source:
        values = list(_values(source, keys))
        rows = source.lines_by_key(values, site, Tally(section))
        return {url: key for key, lines in rows for url in urls_in(lines.encode())}


def _values(source: Source, keys: Iterable[str]) -> Iterator[Any]:
    """Yield the keys of texts; one of a type before a deploy is that of no row."""
    if (space := source.key_space()) is None:  # pages are positions
        return
    for key in keys:
        with suppress(StalePlanError):
            yield space.value(key)
