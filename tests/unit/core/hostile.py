"""Random values over an alphabet that breaks careless XML, each from a seed."""

import random
from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any, TypeVar

from django_sitemaps_plus.core.dates import w3c
from django_sitemaps_plus.core.documents import page_lines
from django_sitemaps_plus.core.entries import CHANGEFREQS, Entry
from django_sitemaps_plus.core.extensions import Alternate, Image, News, Video
from django_sitemaps_plus.core.locations import encode_url

#: The number of a page in an index.
PAGE = 3_141_592

T = TypeVar("T")

PIECES = (
    *map(chr, range(0x20)),
    *("\x7f", "\x80", "\x85", "\x9f", "\u2028", "\u2029", "\r\n", "\n\r"),
    *("\ud800", "\udbff", "\udc00", "\udfff", "\ufffe", "\uffff", "\U0010ffff"),
    *("<", ">", "&", '"', "'", "]]>", "<![CDATA[", "<!--", "-->", "<?xml ?>", "</url>"),
    *("%00", "%", "%%", "%zz", "%C3%A9", "&#0;", "&#x1F;", "&amp;", "&nbsp;", "&lt;"),
    *("\u202e", "\u2066", "\u200b", "\u200f", "\ufeff", "\u00ad", "\u2069"),
    *("\u05e9\u05dc\u05d5\u05dd", "\u0645\u0631\u062d\u0628\u0627", "\u0e01\u0e33"),
    *("\U0001f600", "\U0001f468\u200d\U0001f469\u200d\U0001f467", "\U0001f1e9"),
    *("e\u0301", "Z\u0351\u036b\u0343", "\u1e9e", "\u0130", "\ufb01", "\uff0f"),
    *("//", "  ", "..", "%s"),
    *"abcXYZ0189-_.~!*();:@=+$,\\/?#[]{}|^` ",
)
HOSTS = ("shop.example", "Shop.EXAMPLE:8443", "b\u00fccher.example", "[2001:db8::1]")
CODES = ("de", "DE", "pt-BR", "zh-hant", "zh-Hans-CN", "es-419", "x-default", "gsw")


def seldom(rng: random.Random, usual: T, *others: Any, chance: float = 0.03) -> T:
    return rng.choice(others) if rng.random() < chance else usual  # type: ignore[no-any-return]


def text(rng: random.Random, most: int = 20) -> str:
    return "".join(rng.choices(PIECES, k=rng.randint(1, most)))


def url(rng: random.Random) -> str:
    scheme = rng.choice(("https", "https", "http", "HTTPS"))
    length = rng.choice((1, 4, 8, 8, 8, 8, 8, 100))
    rest = rng.choice(("", "/", "?", "#")) + text(rng, length)
    written = f"{scheme}://{rng.choice(HOSTS)}{rest if rng.random() < 0.9 else ''}"
    # Lone surrogates are refused; few URLs would be left.
    if rng.random() < 0.9:
        written = written.encode("utf-8", "ignore").decode()
    return seldom(rng, written, text(rng), f"https://{text(rng)}/", "/relative", None)


def moment(rng: random.Random) -> Any:
    offset = timezone(timedelta(minutes=rng.randint(-1439, 1439)))
    days = rng.randint(1, date.max.toordinal())
    clock = timedelta(seconds=rng.random() * 86_399)
    naive = datetime.fromordinal(days) + clock
    usual = rng.choice((date.fromordinal(days), naive.replace(tzinfo=offset)))
    first = datetime.min.replace(tzinfo=UTC)
    beyond = datetime.max.replace(tzinfo=timezone(timedelta(hours=-5)))
    return seldom(rng, usual, naive, first, beyond, "2026", 5)


def maybe(rng: random.Random, make: Callable[[], T]) -> T | None:
    return make() if rng.random() < 0.5 else None


def several(rng: random.Random, make: Callable[[], T | None]) -> list[T]:
    made = [make() for _ in range(rng.choice((0, 0, 0, 1, 1, 2)))]
    return [value for value in made if value is not None]


def attempt(kind: Callable[..., T], *args: Any, **values: Any) -> T | None:
    """Return a value of the kind, or None where it refuses what it is given.

    Refusing is a TypeError or ValueError; any other error is a fault.
    """
    try:
        return kind(*args, **values)
    except (TypeError, ValueError):
        return None


def number(rng: random.Random, *usual: Any) -> Any:
    odd = (float("nan"), float("inf"), -0.0, 10**400, -1, True, "1", Decimal("sNaN"))
    return seldom(rng, rng.choice(usual), *odd, Decimal("NaN"), 1e-300, 0.5, "", b"1")


def image(rng: random.Random) -> Image | str | None:
    made = attempt(Image, url(rng))
    return made and rng.choice((made, made.loc))


def alternate(rng: random.Random) -> Alternate | None:
    return attempt(Alternate, seldom(rng, rng.choice(CODES), text(rng), ""), url(rng))


def news(rng: random.Random) -> News | None:
    return attempt(
        News,
        name=text(rng),
        language=seldom(rng, rng.choice(("en", "fil", "zh-cn")), text(rng), "en-us"),
        publication_date=moment(rng),
        title=text(rng),
    )


def video(rng: random.Random) -> Video | None:
    flags = {
        name: seldom(rng, rng.choice((None, True, False)), "yes", 0, chance=0.01)
        for name in ("family_friendly", "requires_subscription", "live")
    }
    return attempt(
        Video,
        thumbnail_loc=url(rng),
        title=text(rng)[:100],
        description=text(rng, rng.choice((5, 5, 5, 200))),
        content_loc=url(rng),
        player_loc=maybe(rng, lambda: url(rng)),
        duration=number(rng, None, 1, 60, 28_800),
        expiration_date=maybe(rng, lambda: moment(rng)),
        rating=number(rng, None, 0, 4.96, 5.0, 1e-9, Decimal("3.14"), Decimal("-0")),
        view_count=number(rng, None, 0, 7, 10**30),
        publication_date=maybe(rng, lambda: moment(rng)),
        tags=[text(rng) for _ in range(seldom(rng, rng.randint(0, 3), 32, 33))],
        uploader=maybe(rng, lambda: text(rng)),
        **flags,
        **places(rng, "countries", ("DE", "DE AT CH", "XX")),
        **places(rng, "platforms", ("web", "web tv", "mobile mobile")),
    )


def places(rng: random.Random, what: str, usual: Sequence[str]) -> dict[str, str]:
    value = seldom(rng, rng.choice(usual), text(rng), "", chance=0.01)
    verbs = rng.choice(((), ("allowed",), ("denied",)))
    return {f"{verb}_{what}": value for verb in verbs}


def entry(rng: random.Random) -> Entry | None:
    return attempt(
        Entry,
        url(rng),
        lastmod=maybe(rng, lambda: moment(rng)),
        changefreq=seldom(rng, rng.choice((None, *CHANGEFREQS)), text(rng), "Daily"),
        priority=number(rng, None, 0, 1, 0.5, 1 / 3, 1e-9, Decimal("0.25"), "0.8"),
        images=several(rng, lambda: image(rng)),
        videos=several(rng, lambda: video(rng)),
        news=maybe(rng, lambda: news(rng)),
        alternates=several(rng, lambda: alternate(rng)),
    )


def index_page(rng: random.Random) -> tuple[str, str, str | None] | None:
    """Return a page's URL, its line in an index, and its lastmod."""
    loc = attempt(encode_url, f"{url(rng)}{PAGE}")
    if loc is None:
        return None
    moments = maybe(rng, lambda: attempt(w3c, moment(rng)))
    (line,) = page_lines(loc, PAGE, [("", PAGE, moments or "")])
    return loc, line, moments


def some(rng: random.Random, make: Callable[[random.Random], Any]) -> list[Any]:
    found: list[Any] = []
    wanted = rng.choice((1, 1, 1, 2, 5))
    while len(found) < wanted:
        value = make(rng)
        if value is not None:
            found.append(value)
    return found
