"""Google's additions to an entry: images, videos, news and language versions.

The rules are those of Google's reference for each extension and of its XSD.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date
from decimal import Decimal

from .dates import w3c
from .language_codes import country_doubt, language_doubt
from .limits import MAX_VIDEO_TAGS
from .locations import encode_url
from .xml import written

# Language, script and region: the part of BCP 47 that search engines read.
_LANGUAGE = re.compile(
    r"x-default|[A-Za-z]{2,3}(?:-[A-Za-z]{4})?(?:-(?:[A-Za-z]{2}|[0-9]{3}))?"
)
_NEWS_LANGUAGE = re.compile(r"zh-cn|zh-tw|[a-z]{2,3}")
_COUNTRIES = re.compile(r"[A-Z]{2}(?: [A-Z]{2})*")
_PLATFORMS = re.compile(r"(?:web|mobile|tv)(?: (?:web|mobile|tv))*")
_FLAGS = ("family_friendly", "requires_subscription", "live")


@dataclass(frozen=True, slots=True)
class Image:
    """An image on the page.

    Attributes:
        loc: its absolute URL, on any host that the site's owner has verified.
    """

    loc: str

    def __post_init__(self) -> None:
        object.__setattr__(self, "loc", encode_url(self.loc))


@dataclass(frozen=True, slots=True)
class Alternate:
    """A language version of the page.

    Attributes:
        hreflang: language, optionally script and region (``de``, ``pt-BR``,
            ``zh-Hant-TW``), or ``x-default``.
        href: its absolute URL.
    """

    hreflang: str
    href: str

    def __post_init__(self) -> None:
        if not _LANGUAGE.fullmatch(self.hreflang):
            raise ValueError(
                f"hreflang {self.hreflang!r} is not a language code: give a language, "
                "optionally script and region, such as de, pt-BR or zh-Hant-TW"
            )
        object.__setattr__(self, "href", encode_url(self.href))

    @property
    def doubt(self) -> str:
        """Why engines will not understand the code, though its form is right, or ""."""
        doubt = language_doubt(self.hreflang)
        return doubt and f"hreflang {self.hreflang!r}: {doubt}"


@dataclass(frozen=True, slots=True, kw_only=True)
class News:
    """A news article, at most two days old (older ones belong in other sections).

    Attributes:
        name: the publication's name, exactly as on news.google.com.
        language: two or three lower-case letters, ``zh-cn`` or ``zh-tw``.
        publication_date: when the article first appeared: a date or an aware
            datetime.
        title: as on the page.
    """

    name: str
    language: str
    publication_date: date
    title: str

    def __post_init__(self) -> None:
        if not _NEWS_LANGUAGE.fullmatch(self.language):
            raise ValueError(
                f"news language {self.language!r} is neither two or three lower-case "
                "letters nor zh-cn or zh-tw"
            )
        w3c(self.publication_date)
        for name in ("name", "title"):
            _check_text(f"news {name}", getattr(self, name))

    @property
    def doubt(self) -> str:
        """Why engines will not understand the language, or ""."""
        doubt = language_doubt(self.language, may_have_region=False)
        return doubt and f"news language {self.language!r}: {doubt}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Video:
    """A video on the page; one of ``content_loc`` and ``player_loc`` is needed.

    Attributes:
        thumbnail_loc: URL of its preview image.
        title: at most 100 characters.
        description: at most 2,048 characters.
        content_loc: URL of the media file.
        player_loc: URL of a player.
        duration: seconds, 1 to 28,800.
        expiration_date: a date or an aware datetime after which it is gone.
        rating: 0.0 to 5.0.
        view_count: its number of views.
        publication_date: a date or an aware datetime.
        tags: at most 32.
        family_friendly: False for adult content.
        allowed_countries: ISO 3166-1 codes, upper case, separated by spaces.
        denied_countries: the same; only one of the two.
        requires_subscription: True where it is not free.
        uploader: at most 255 characters.
        allowed_platforms: of ``web mobile tv``, separated by spaces.
        denied_platforms: the same; only one of the two.
        live: True for a live stream.
    """

    thumbnail_loc: str
    title: str
    description: str
    content_loc: str | None = None
    player_loc: str | None = None
    duration: int | None = None
    expiration_date: date | None = None
    rating: float | Decimal | None = None
    view_count: int | None = None
    publication_date: date | None = None
    tags: tuple[str, ...] = ()
    family_friendly: bool | None = None
    allowed_countries: str | None = None
    denied_countries: str | None = None
    requires_subscription: bool | None = None
    uploader: str | None = None
    allowed_platforms: str | None = None
    denied_platforms: str | None = None
    live: bool | None = None

    def __post_init__(self) -> None:
        if self.content_loc is None and self.player_loc is None:
            raise ValueError("a video needs a content_loc or a player_loc")
        object.__setattr__(self, "thumbnail_loc", encode_url(self.thumbnail_loc))
        for name in ("content_loc", "player_loc"):
            if (url := getattr(self, name)) is not None:
                object.__setattr__(self, name, encode_url(url))

        self._check_values()
        for name in _FLAGS:
            if not isinstance(value := getattr(self, name), bool | None):
                raise TypeError(f"video {name} {value!r} is neither True nor False")

        for what, pattern in (("countries", _COUNTRIES), ("platforms", _PLATFORMS)):
            values = [getattr(self, f"{verb}_{what}") for verb in ("allowed", "denied")]
            if None not in values:
                raise ValueError(f"a video has either allowed or denied {what}")
            for value in values:
                if value is not None and not pattern.fullmatch(value):
                    raise ValueError(
                        f"video {what} {value!r} are not in the right form"
                    )

    def _check_values(self) -> None:
        for name, low, high in (("duration", 1, 28_800), ("view_count", 0, None)):
            value = getattr(self, name)
            if value is not None and not isinstance(value, int):
                raise TypeError(f"video {name} {value!r} is not a whole number")
            _check_range(f"video {name}", value, low, high)
        _check_range("video rating", self.rating, 0, 5)
        for name in ("expiration_date", "publication_date"):
            if (value := getattr(self, name)) is not None:
                w3c(value)

        _check_text("video title", self.title, 100)
        _check_text("video description", self.description, 2_048)
        if self.uploader is not None:
            _check_text("video uploader", self.uploader, 255)
        tags = (self.tags,) if isinstance(self.tags, str) else tuple(self.tags)
        object.__setattr__(self, "tags", tags)
        if len(self.tags) > MAX_VIDEO_TAGS:
            raise ValueError(f"{len(self.tags)} video tags: at most {MAX_VIDEO_TAGS}")
        for tag in self.tags:
            _check_text("video tag", tag)

    @property
    def doubt(self) -> str:
        """Why engines will not understand the countries, or ""."""
        given = self.allowed_countries or self.denied_countries or ""
        doubt = country_doubt(given)
        return doubt and f"video countries {given!r}: {doubt}"


def _check_range(
    what: str, value: float | Decimal | None, low: float, high: float | None
) -> None:
    if value is None:
        return
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        raise TypeError(f"{what} {value!r} is not a number")
    is_nan = isinstance(value, Decimal) and value.is_nan()  # comparing one raises
    if is_nan or not value >= low or (high is not None and value > high):
        top = "any number" if high is None else f"{high:,}"
        raise ValueError(f"{what} {value!r} is not between {low} and {top}")


def _check_text(what: str, value: object, high: int | None = None) -> None:
    if not isinstance(value, str):
        raise TypeError(f"{what} {value!r} is not a string")
    length = len(written(value))
    if not length or (high is not None and length > high):
        top = "any number" if high is None else f"{high:,}"
        raise ValueError(f"{what} has {length:,} characters; 1 to {top} are allowed")
