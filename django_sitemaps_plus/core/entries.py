"""Entries: what a sitemap may say about one URL, checked on creation."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import KW_ONLY, dataclass
from datetime import date
from decimal import Decimal
from typing import Any, TypeVar

from .dates import w3c
from .extensions import Alternate, Image, News, Video
from .limits import MAX_IMAGES
from .locations import encode_location

__all__ = ["CHANGEFREQS", "Alternate", "Entry", "Image", "News", "Video"]

#: The seven words of the protocol, from most to least often.
CHANGEFREQS = ("always", "hourly", "daily", "weekly", "monthly", "yearly", "never")

_NUMBER = re.compile(r"[0-9]+(\.[0-9]+)?")
_T = TypeVar("_T")


def check_changefreq(value: object) -> str:
    """Return one of the seven words, of which a value may be the text."""
    word = value if isinstance(value, str) else str(value)
    if word not in CHANGEFREQS:
        raise ValueError(f"changefreq {value!r} is not one of {', '.join(CHANGEFREQS)}")
    # A member of an enumeration is the word, and may print as its own name.
    return str.__str__(word)


def check_priority(value: object) -> float:
    """Return a number, or what has the plain decimal text of one, from 0.0 to 1.0."""
    number = math.nan
    if isinstance(value, int | float | Decimal) and not isinstance(value, bool):
        with suppress(OverflowError):
            number = float(value)
    elif _NUMBER.fullmatch(text := value if isinstance(value, str) else str(value)):
        number = float(text)
    if not 0.0 <= number <= 1.0:
        raise ValueError(f"priority {value!r} is not a number from 0.0 to 1.0")
    return abs(number)  # minus zero is zero


def format_priority(value: float) -> str:
    """Return the decimal text of a priority: no exponent, one to four decimals."""
    text = f"{value:.4f}".rstrip("0")
    return text + "0" if text.endswith(".") else text


@dataclass(frozen=True, slots=True)
class Entry:
    """A ``<url>`` of a sitemap.

    Everything is checked and normalised when it is made, so it can always be written.

    Attributes:
        loc: absolute http(s) URL, 12 to 2,047 characters once percent-encoded.
        lastmod: when the page last changed: a date or an aware datetime.
        changefreq: one of :data:`CHANGEFREQS`.
        priority: 0.0 to 1.0, compared within one site only.
        images: at most 1,000.
        videos: any number.
        news: what makes it an article of Google News.
        alternates: its language versions, this one among them.

    Raises:
        TypeError: a value of the wrong type.
        ValueError: a value that the protocol does not allow.
    """

    loc: str
    _: KW_ONLY
    lastmod: date | None = None
    changefreq: str | None = None
    priority: float | None = None
    images: tuple[Image, ...] = ()
    videos: tuple[Video, ...] = ()
    news: News | None = None
    alternates: tuple[Alternate, ...] = ()

    def __post_init__(self) -> None:
        set_ = object.__setattr__
        set_(self, "loc", encode_location(self.loc))
        if self.lastmod is not None:
            w3c(self.lastmod)
        if self.changefreq is not None:
            check_changefreq(self.changefreq)
        if self.priority is not None:
            set_(self, "priority", check_priority(self.priority))
        set_(self, "images", check_images(self.images))
        set_(self, "videos", check_all(Video, self.videos))
        if self.news is not None:
            check_all(News, [self.news])
        set_(self, "alternates", check_all(Alternate, self.alternates))

    @property
    def lastmod_text(self) -> str | None:
        """The lastmod as W3C text, or None."""
        return None if self.lastmod is None else w3c(self.lastmod)


def check_all(kind: type[_T], values: Iterable[Any]) -> tuple[_T, ...]:
    """Return the values, all of one class, as a tuple."""
    checked = tuple(values)
    for value in checked:
        if not isinstance(value, kind):
            raise TypeError(f"{value!r} is not of the class {kind.__name__}")
    return checked


def check_images(values: Iterable[Any]) -> tuple[Image, ...]:
    """Return the images of one entry; a URL becomes an image."""
    if isinstance(values, str | Image):
        values = (values,)
    images = [Image(value) if isinstance(value, str) else value for value in values]
    if len(images) > MAX_IMAGES:
        raise ValueError(f"{len(images):,} images: at most {MAX_IMAGES:,} are allowed")
    return check_all(Image, images)
