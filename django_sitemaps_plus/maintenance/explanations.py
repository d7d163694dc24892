"""What is said of a URL or a row: its entries, its rows, and what engines answered."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

from django_sitemaps_plus.core.diff import urls_in


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """An entry on a page."""

    url: str  # the one asked for, or one much like it
    section: str
    page: int
    lastmod: str  # "" for none
    object: str  # in storage; "" where the page is rendered live
    published_at: datetime | None  # of the object; the entry may be older


@dataclass(slots=True)
class Lead:
    """A row that is asked for, or that a URL leads to, in one section."""

    section: str
    row: str
    lines: str = field(repr=False)  # of its entries; none where a condition is not met
    reasons: list[str]  # why it is not listed; none where it is

    @property
    def urls(self) -> list[str]:
        """Those that the section gives it: one, or one a language."""
        return sorted(set(urls_in(self.lines.encode())))


@dataclass(slots=True, kw_only=True)
class Explanation:
    """What there is to say about a URL or a row."""

    url: str  # of a row the first that there is; "" without any
    listings: list[Listing] = field(default_factory=list)
    rows: list[Lead] = field(default_factory=list)
    engines: dict[str, str] = field(default_factory=dict)  # what each has answered
    notes: list[str] = field(default_factory=list)

    @property
    def is_listed(self) -> bool:
        """Whether the URL itself is listed."""
        return any(listing.url == self.url for listing in self.listings)
